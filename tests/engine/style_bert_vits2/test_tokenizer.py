import json
from pathlib import Path

import pytest

from engine.errors import VoiceNotAvailableError
from engine.voices.style_bert_vits2.text.tokenizer import CharacterTokenizer

from .conftest import DATA


def test_tokens_are_those_of_the_vocabulary(tree: Path):
    tokenizer = CharacterTokenizer.load(tree / "bert" / "tokenizer")
    for row in json.loads((DATA / "text.json").read_text("utf-8")):
        assert tokenizer.encode_text(row["bert_text"]) == row["bert_input_ids"]


def test_unknown_characters_and_white_space(tree: Path):
    tokenizer = CharacterTokenizer.load(tree / "bert" / "tokenizer")
    known = tokenizer.encode_text("ガ")[1]
    assert tokenizer.encode_text("ｶﾞ \u3000\U0001f600") == [1, known, 3, 2]


def test_line_separators_of_unicode_are_characters(tmp_path: Path):
    (tmp_path / "vocab.txt").write_text("[PAD]\n[CLS]\n[SEP]\n[UNK]\n\u2028\n\x85\nあ\n", "utf-8")
    assert CharacterTokenizer.load(tmp_path).encode("あ\u2028") == [1, 6, 4, 2]


def test_a_missing_or_foreign_vocabulary_says_what_to_do(tmp_path: Path):
    with pytest.raises(VoiceNotAvailableError, match=r"vocab\.txt.*fetch bert/tokenizer again"):
        CharacterTokenizer.load(tmp_path)
    (tmp_path / "vocab.txt").write_text("a\nb\n", "utf-8")
    with pytest.raises(VoiceNotAvailableError, match=r"lacks \[CLS\], \[SEP\], \[UNK\]"):
        CharacterTokenizer.load(tmp_path)
