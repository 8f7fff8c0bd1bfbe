"""The HTTP server: VOICEVOX's interface, one of Asagoe's own, and numbers. The service is complete without it.

``server`` runs it in a thread of its own, so that nothing a client sends can hold up what is being said. ``backend`` is
all that it may ask of the service; ``guard`` stands before every request; ``work`` bounds what is synthesized.
"""
