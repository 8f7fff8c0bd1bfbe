"""How the parts of the service are put together, room by room; ``daemon.app`` says in which order."""
