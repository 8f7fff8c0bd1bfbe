"""Pitch accent of Tokyo Japanese as one tone a phoneme, from HTS full-context labels.

An accent phrase of M moras with its accent on mora A (1-based, A = M for unaccented phrases) is low on the first
mora and high from the second to the A-th; with A = 1 it is high on the first only. The fields of the labels are
described with the HTS demos; using them for end-to-end synthesis follows K. Kurihara, N. Seiyama and T. Kumano,
"Prosodic Features Control by Symbols as Input of Sequence-to-Sequence Acoustic Modeling for Neural TTS", IEICE
Trans. Inf. & Syst. E104-D(2), 2021.
"""

from __future__ import annotations

import re
from difflib import SequenceMatcher

# p3: the phoneme; a2: its mora's place in the accent phrase; f1, f2: the phrase's moras and accent.
_LABEL = re.compile(r"-(?P<phoneme>[^+]+)\+.*?/A:[^+]+\+(?P<mora>\d+|xx)\+.*?/F:(?P<moras>\d+|xx)_(?P<accent>\d+|xx)")
_SILENT = {"sil", "pau"}

LOW, HIGH = 0, 1


def label_tones(labels: list[str]) -> list[tuple[str, int]]:
    """Phonemes with their tones; pauses are left out, devoiced vowels are written as voiced ones.

    Args:
        labels: HTS full-context labels of an utterance, one a phoneme.
    """
    toned: list[tuple[str, int]] = []
    for label in labels:
        match = _LABEL.search(label)
        if match is None or match["phoneme"] in _SILENT or "xx" in match.groups():
            continue
        mora, moras, accent = (int(match[name]) for name in ("mora", "moras", "accent"))
        high = 1 < mora <= accent or (mora == accent == 1 and moras > 1)
        toned.append((_plain(match["phoneme"]), HIGH if high else LOW))
    return toned


def align(phonemes: list[str], toned: list[tuple[str, int]], silent: frozenset[str]) -> list[int]:
    """Give each phoneme the tone of its counterpart among the labels'.

    The two sequences come from the same readings and agree but for rare syllables; where they do not, a phoneme
    goes on with the tone before it.

    Args:
        phonemes: of the whole utterance.
        toned: what ``label_tones`` returned for it.
        silent: phonemes that labels do not have and that are low: punctuation, padding.

    Returns:
        One tone a phoneme.
    """
    spoken = [at for at, phoneme in enumerate(phonemes) if phoneme not in silent]
    tones = [LOW] * len(phonemes)
    if [phonemes[at] for at in spoken] == [phoneme for phoneme, _ in toned]:
        for at, (_, tone) in zip(spoken, toned, strict=True):
            tones[at] = tone
        return tones
    matcher = SequenceMatcher(None, [phonemes[at] for at in spoken], [phoneme for phoneme, _ in toned], autojunk=False)
    found: dict[int, int] = {}
    for ours, theirs, length in matcher.get_matching_blocks():
        found |= {spoken[ours + step]: toned[theirs + step][1] for step in range(length)}
    before = LOW
    for at in spoken:
        before = tones[at] = found.get(at, before)
    return tones


def _plain(phoneme: str) -> str:
    return "q" if phoneme == "cl" else phoneme.lower() if phoneme in "AIUEO" else phoneme
