"""Puts the service in its place on a machine with systemd, and takes it away again.

``plan`` decides, without touching anything; ``apply`` does what was decided.
"""
