"""Briefings: sections that are fetched side by side, put into words, and spoken as one announcement."""
