"""Voice families: each turns prepared sentences into sound behind one Protocol (``base``).

To add a family: write a module with a class that meets ``VoiceFamily`` and name it in ``FAMILIES``.
"""
