"""Alarms: what rings when, until somebody answers, whatever fails."""
