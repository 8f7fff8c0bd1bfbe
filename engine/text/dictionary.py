"""The user's own words: a YAML file that maps each surface to its reading.

.. code-block:: yaml

    東横線: とうよこせん
    Wi-Fi: {reading: ワイファイ, accent: 0}
    7:30: しちじはん
    愛犬ポチ: {reading: あいけんぽち, part of speech: proper noun, priority: 8}

Everything in it is text: ``on``, ``no`` and ``7:30`` mean what they say. Functions that change a dictionary change the
text of its file and leave comments and order alone; reading and writing the file is the caller's affair.
"""

from __future__ import annotations

import hashlib
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import yaml

from engine.errors import DictionaryError
from engine.text.characters import fold
from engine.text.kana import default_accent, is_reading, moras, pronunciation
from engine.text.readings import MAX_LENGTH, Reading
from engine.text.rules.base import JAPANESE

PARTS_OF_SPEECH = {
    "noun": "名詞,一般,*,*",
    "proper noun": "名詞,固有名詞,一般,*",
    "verbal noun": "名詞,サ変接続,*,*",
    "surname": "名詞,固有名詞,人名,姓",
    "given name": "名詞,固有名詞,人名,名",
    "organization": "名詞,固有名詞,組織,*",
    "place": "名詞,固有名詞,地域,一般",
    "suffix": "名詞,接尾,一般,*",
}
"""As they stand in the file → as Open JTalk's dictionary names them."""

DEFAULT_PRIORITY = 5
MAX_PRIORITY = 10

_JAPANESE = re.compile(f"[{JAPANESE}]+")
_KEYS = {"reading", "accent", "part of speech", "priority"}


@dataclass(frozen=True, slots=True)
class Word:
    """A word of the user.

    Attributes:
        surface: as it is written; anything but braces, bars and line ends, at most 40 characters.
        reading: kana; hiragana as spelled (とうきゅう), katakana as pronounced (トーキュー).
        accent: the mora on which the pitch falls, from 1; 0 for a flat word; None for the usual one.
        part_of_speech: a key of ``PARTS_OF_SPEECH``; decides how the word joins its neighbours.
        priority: 0 to 10; the higher, the stronger against other ways to cut the sentence.
    """

    surface: str
    reading: str
    accent: int | None = None
    part_of_speech: str = "proper noun"
    priority: int = DEFAULT_PRIORITY

    def reading_of(self) -> Reading:
        """The word as the rules and the front end use it."""
        return Reading(self.surface, pronunciation(self.reading), self.accent)

    @property
    def in_front_end(self) -> bool:
        """Whether Open JTalk finds the word by itself: kana and kanji only. Others are found before the rules."""
        return _JAPANESE.fullmatch(fold(self.surface)) is not None


@dataclass(frozen=True)
class Dictionary:
    """The user's words. An empty one is false."""

    words: tuple[Word, ...] = ()
    source: str = field(default="dictionary", compare=False)

    def __bool__(self) -> bool:
        return bool(self.words)

    @cached_property
    def fingerprint(self) -> str:
        """Equal for equal words."""
        return hashlib.sha256(repr(self.words).encode("utf-8", "surrogatepass")).hexdigest()[:16]

    @property
    def outside_the_front_end(self) -> tuple[Word, ...]:
        """Words with letters, digits or signs: found in the text before the rules."""
        return tuple(word for word in self.words if not word.in_front_end)

    def find(self, surface: str) -> Word | None:
        """The word of that surface; case and width do not matter."""
        return next((word for word in self.words if _same(word.surface, surface)), None)


def load_dictionary(path: Path) -> Dictionary:
    """Read a dictionary from its file.

    Raises:
        DictionaryError: names the file and every line that is wrong.
    """
    try:
        text = path.read_text("utf-8-sig")
    except UnicodeDecodeError as error:
        message = f"{path}: not UTF-8 (byte {error.start}); save the file as UTF-8"
        raise DictionaryError(message) from error
    except OSError as error:
        message = f"{path}: cannot be read ({error.strerror})"
        raise DictionaryError(message) from error
    return parse_dictionary(text, str(path))


def parse_dictionary(text: str, source: str = "dictionary") -> Dictionary:
    """Read a dictionary from the text of its file.

    Raises:
        DictionaryError: one line for every mistake, each with ``source`` and the line number.
    """
    mistakes: list[str] = []
    words: list[Word] = []
    lines: dict[str, int] = {}
    for key, value in _entries(text, source):
        line = key.start_mark.line + 1
        try:
            word = _word(key, value)
        except ValueError as error:
            mistakes.append(f"{source}:{line}: {error}")
            continue
        earlier = lines.setdefault(fold(word.surface).lower(), line)
        if earlier != line:
            mistakes.append(f"{source}:{line}: {word.surface!r} already stands in line {earlier}; keep one of the two")
        words.append(word)
    if mistakes:
        raise DictionaryError("\n".join(mistakes))
    return Dictionary(tuple(words), source)


def with_word(text: str, word: Word, source: str = "dictionary") -> str:
    """The text of the file with a word added, or changed where its surface stands already.

    Raises:
        DictionaryError: the text or the word is wrong.
    """
    entry = _entry(word)
    parse_dictionary(entry, "the word")
    for key, value in _entries(text, source):
        if isinstance(key, yaml.ScalarNode) and _same(key.value, word.surface):
            start, end = _extent(text, key, value)
            return _checked(text[:start] + entry + text[end:], source)
    body = text if not text.strip() or text.endswith("\n") else text + "\n"
    if re.fullmatch(r"(?:\s|#[^\n]*\n?|---\n?)*\{\s*\}\s*", body):
        body = body[: body.index("{")]
    return _checked(body + entry, source)


def without_word(text: str, surface: str, source: str = "dictionary") -> str:
    """The text of the file without a word.

    Raises:
        DictionaryError: the text is wrong, or no such word stands in it.
    """
    for key, value in _entries(text, source):
        if isinstance(key, yaml.ScalarNode) and _same(key.value, surface):
            start, end = _extent(text, key, value)
            return _checked(text[:start] + text[end:], source)
    message = f"{source}: {surface!r} is not in the dictionary"
    raise DictionaryError(message)


@contextmanager
def compiled(dictionary: Dictionary | None) -> Iterator[bytes]:
    """Open JTalk's binary form of the words that it finds itself: all of them in one go.

    The compiler of MeCab talks on the standard output of its process, so it gets a process of its own.

    Yields:
        The path of the compiled file, which is gone afterwards (an open one stays usable); empty without words.

    Raises:
        DictionaryError: the compiler refused.
    """
    words = [word for word in dictionary.words if word.in_front_end] if dictionary else []
    if not words:
        yield b""
        return
    with tempfile.TemporaryDirectory(prefix="asagoe-dictionary-") as folder:
        source, result = Path(folder, "words.csv"), Path(folder, "words.dic")
        source.write_text("".join(_csv(word) for word in words), "utf-8")
        command = [sys.executable, "-I", "-c", _COMPILE, str(source), str(result)]
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False, timeout=120)
        if done.returncode or not result.is_file():
            name = dictionary.source if dictionary else ""
            message = (
                f"{name}: Open JTalk cannot compile the dictionary: {done.stderr.strip()[-300:] or 'no reason given'}"
            )
            raise DictionaryError(message)
        yield str(result).encode()


_COMPILE = """
import sys, pyopenjtalk
from pathlib import Path
folder = pyopenjtalk.OPEN_JTALK_DICT_DIR.decode()
ids = {}
for line in Path(folder, "left-id.def").read_text("utf-8").splitlines():
    number, _, name = line.partition(" ")
    ids[name] = number
source = Path(sys.argv[1])
lines = source.read_text("utf-8").splitlines()
filled = []
for line in lines:
    surface, part, cost, rest = line.split("\\t")
    number = ids[part + ",*,*,*"]
    filled.append(f"{surface},{number},{number},{cost},{part},*,*,{rest}\\n")
source.write_text("".join(filled), "utf-8")
pyopenjtalk.mecab_dict_index(sys.argv[1], sys.argv[2])
"""


def _csv(word: Word) -> str:
    reading = word.reading_of()
    accent = default_accent(reading.kana) if reading.accent is None else reading.accent
    cost = 5000 - 1500 * word.priority  # the system dictionary's words lie between about -5000 and 15000
    surface = fold(word.surface)
    part = PARTS_OF_SPEECH[word.part_of_speech]
    rest = f"{surface},{reading.kana},{reading.kana},{accent}/{len(moras(reading.kana))},C1"
    return f"{surface}\t{part}\t{cost}\t{rest}\n"


def _entries(text: str, source: str) -> list[tuple[yaml.Node, yaml.Node]]:
    try:
        root = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.MarkedYAMLError as error:
        line = f":{error.problem_mark.line + 1}" if error.problem_mark else ""
        message = f"{source}{line}: not YAML: {error.problem}"
        raise DictionaryError(message) from error
    except yaml.YAMLError as error:
        message = f"{source}: not YAML: {error}"
        raise DictionaryError(message) from error
    except RecursionError as error:
        message = f"{source}: nested too deeply; a dictionary is a plain list of 'surface: reading'"
        raise DictionaryError(message) from error
    if root is None or (isinstance(root, yaml.ScalarNode) and not root.value):
        return []
    if not isinstance(root, yaml.MappingNode):
        message = f"{source}:{root.start_mark.line + 1}: expected lines of the form 'surface: reading'"
        raise DictionaryError(message)
    return list(root.value)


def _word(key: yaml.Node, value: yaml.Node) -> Word:
    if not isinstance(key, yaml.ScalarNode):
        message = "a surface is plain text; put it in quotes"
        raise ValueError(message)  # noqa: TRY004 - a mistake in the file, not in the program
    facts: dict[str, str] = {}
    if isinstance(value, yaml.ScalarNode):
        facts["reading"] = value.value
    elif isinstance(value, yaml.MappingNode):
        for name, fact in value.value:
            if name.value not in _KEYS or not isinstance(fact, yaml.ScalarNode):
                message = f"{key.value!r} has {name.value!r}; known are {', '.join(sorted(_KEYS))}"
                raise ValueError(message)
            facts[name.value] = fact.value
    else:
        message = f"{key.value!r} needs a reading, or {{reading: …, accent: …}}"
        raise ValueError(message)  # noqa: TRY004
    return checked_word(key.value, facts)


def checked_word(surface: str, facts: dict[str, str]) -> Word:
    """A word of texts as they stand in a file or on a command line.

    Raises:
        ValueError: says what is wrong with which value.
    """
    if not surface.strip() or len(fold(surface)) > MAX_LENGTH or re.search(r"[{}|\n]", fold(surface)):
        message = (
            f"surface {surface!r} must have 1 to {MAX_LENGTH} characters, none of them a brace, a bar or a line end"
        )
        raise ValueError(message)
    reading = facts.get("reading", "")
    kana = pronunciation(reading)
    if not is_reading(kana) or len(kana) > MAX_LENGTH:
        message = f"{surface!r}: reading {reading!r} must be 1 to {MAX_LENGTH} kana"
        raise ValueError(message)
    accent = None
    if "accent" in facts:
        accent = _number(surface, "accent", facts["accent"], len(moras(kana)))
    part = facts.get("part of speech", "proper noun")
    if part not in PARTS_OF_SPEECH:
        message = f"{surface!r}: part of speech {part!r} is not known; known are {', '.join(PARTS_OF_SPEECH)}"
        raise ValueError(message)
    priority = _number(surface, "priority", facts.get("priority", str(DEFAULT_PRIORITY)), MAX_PRIORITY)
    return Word(surface, reading, accent, part, priority)


def _number(surface: str, name: str, text: str, highest: int) -> int:
    if not re.fullmatch(r"\d{1,3}", text, re.ASCII) or int(text) > highest:
        message = f"{surface!r}: {name} {text!r} must be a whole number from 0 to {highest}"
        raise ValueError(message)
    return int(text)


def _same(one: str, other: str) -> bool:
    return fold(one).lower() == fold(other).lower()


def _entry(word: Word) -> str:
    facts: list[str] = []
    if word.accent is not None:
        facts.append(f"accent: {word.accent}")
    if word.part_of_speech != "proper noun":
        facts.append(f"part of speech: {word.part_of_speech}")
    if word.priority != DEFAULT_PRIORITY:
        facts.append(f"priority: {word.priority}")
    value = f"{{reading: {_scalar(word.reading)}, {', '.join(facts)}}}" if facts else _scalar(word.reading)
    return f"{_scalar(word.surface)}: {value}\n"


def _scalar(text: str) -> str:
    if re.fullmatch(rf"[A-Za-z{JAPANESE}][A-Za-z0-9{JAPANESE} -]*(?<! )", text):
        return text
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\t", "\\t") + '"'


def _extent(text: str, key: yaml.Node, value: yaml.Node) -> tuple[int, int]:
    """From the beginning of the entry's first line to the end of its last, in a file of one entry a line."""
    start = text.rfind("\n", 0, key.start_mark.index) + 1
    if isinstance(value, yaml.MappingNode) and not value.flow_style and value.value:
        value = value.value[-1][1]  # the end mark of a block lies at the next token, beyond comments
    end = text.find("\n", value.end_mark.index)
    return start, len(text) if end < 0 else end + 1


def _checked(text: str, source: str) -> str:
    parse_dictionary(text, source)
    return text
