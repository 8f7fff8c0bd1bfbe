"""Text of a house, made ready to be read aloud: the same for every voice family.

The way through this room: ``characters`` (one form of each, out with what has no sound) → ``scanner`` with ``rules``
(notations become natural Japanese) → ``sentences`` (where to breathe) → ``openjtalk`` (readings, accents, phonemes).
``TextPipeline`` joins them and is what the rest of the engine uses. ``dictionary`` holds the user's own words.
``accents`` has readings and accents as data, ``notation`` as a line of kana, ``labels`` as Open JTalk's labels.
"""

from engine.text.accents import AccentPhrase, Mora
from engine.text.describe import Description, describe
from engine.text.dictionary import Dictionary, Word, load_dictionary
from engine.text.notation import KanaError, parse_kana, write_kana
from engine.text.pipeline import Dropped, Script, Sentence, TextPipeline, normalize
from engine.text.types import Kind, Token

__all__ = [
    "AccentPhrase",
    "Description",
    "Dictionary",
    "Dropped",
    "KanaError",
    "Kind",
    "Mora",
    "Script",
    "Sentence",
    "TextPipeline",
    "Token",
    "Word",
    "describe",
    "load_dictionary",
    "normalize",
    "parse_kana",
    "write_kana",
]
