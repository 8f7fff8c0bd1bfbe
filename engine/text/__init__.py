"""Text of a house, made ready to be read aloud: the same for every voice family.

The way through this room: ``characters`` (one form of each, out with what has no sound) → ``scanner`` with ``rules``
(notations become natural Japanese) → ``sentences`` (where to breathe) → ``openjtalk`` (readings, accents, phonemes).
``TextPipeline`` joins them and is what the rest of the engine uses. ``dictionary`` holds the user's own words.
"""

from engine.text.describe import Description, describe
from engine.text.dictionary import Dictionary, Word, load_dictionary
from engine.text.pipeline import Dropped, Script, Sentence, TextPipeline, normalize
from engine.text.types import Kind, Token

__all__ = [
    "Description",
    "Dictionary",
    "Dropped",
    "Kind",
    "Script",
    "Sentence",
    "TextPipeline",
    "Token",
    "Word",
    "describe",
    "load_dictionary",
    "normalize",
]
