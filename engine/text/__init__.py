"""Text of a house, made ready to be read aloud: the same for every voice family.

The way through this room: ``normalize`` (characters and notations) → ``sentences`` (where to breathe) →
``openjtalk`` (readings, accents, phonemes). ``TextPipeline`` joins them and is what the rest of the engine uses.
"""

from engine.text.pipeline import Dropped, Script, Sentence, TextPipeline

__all__ = ["Dropped", "Script", "Sentence", "TextPipeline"]
