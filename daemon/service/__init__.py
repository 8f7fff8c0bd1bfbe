"""Manners of a service: what it tells systemd, and how it notices that it is stuck."""
