"""Graphs of networks as files: what they are made of, prepared for this machine, checked and kept."""
