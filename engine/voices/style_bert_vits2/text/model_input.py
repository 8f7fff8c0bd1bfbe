"""From a reading to the numbers that the networks take."""

from __future__ import annotations

from itertools import chain

import numpy as np

from engine.voices.style_bert_vits2.backend import Floats, Integers
from engine.voices.style_bert_vits2.text.phonemes import PAD, PHONEME_IDS
from engine.voices.style_bert_vits2.text.reading import Reading

JAPANESE = 1
FIRST_JAPANESE_TONE = 6
ASSIST_WEIGHT = 0.7
"""Share of the assist text's mean feature, as models of the family are used."""


def symbol_ids(reading: Reading, *, add_blank: bool) -> tuple[Integers, Integers, Integers]:
    """Ids of phonemes, tones and languages, shape [P] each.

    With blanks, id 0 stands before, between and after all symbols: P = 2 · len(phonemes) + 1.
    """
    phonemes = [PHONEME_IDS[phoneme] for phoneme in reading.phonemes]
    tones = [FIRST_JAPANESE_TONE + tone for tone in reading.tones]
    languages = [JAPANESE] * len(phonemes)
    rows = [_with_blanks(ids) if add_blank else ids for ids in (phonemes, tones, languages)]
    first, second, third = (np.asarray(row, np.int64) for row in rows)
    return first, second, third


def symbols(reading: Reading, *, add_blank: bool) -> list[str]:
    """Name of each of the P symbols; a blank is called like the padding."""
    names = list(reading.phonemes)
    return [PAD, *chain.from_iterable((name, PAD) for name in names)] if add_blank else names


def symbols_per_token(reading: Reading, *, add_blank: bool) -> list[int]:
    """How many of the P symbols each token of BERT accounts for; the first blank belongs to the first token."""
    if not add_blank:
        return list(reading.word2ph)
    doubled = [2 * count for count in reading.word2ph]
    return [doubled[0] + 1, *doubled[1:]]


def spread_features(features: Floats, counts: list[int], assist: Floats | None = None) -> Floats:
    """Give each symbol the feature of its token.

    Args:
        features: BERT features of the text, shape [T, D].
        counts: symbols of each token, T numbers.
        assist: BERT features of an assist text, shape [T', D]; their mean is mixed into all symbols.

    Returns:
        Shape [D, sum(counts)].
    """
    if assist is not None:
        features = features * np.float32(1 - ASSIST_WEIGHT) + assist.mean(axis=0) * np.float32(ASSIST_WEIGHT)
    return np.ascontiguousarray(np.repeat(features, counts, axis=0).T, np.float32)


def _with_blanks(ids: list[int]) -> list[int]:
    return [0, *chain.from_iterable((number, 0) for number in ids)]
