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
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import yaml

from engine.errors import DictionaryError, DictionaryMistake
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
        message = f"not UTF-8 (byte {error.start}); save the file as UTF-8"
        raise DictionaryError(DictionaryMistake(str(path), None, message)) from error
    except OSError as error:
        message = f"cannot be read ({error.strerror})"
        raise DictionaryError(DictionaryMistake(str(path), None, message)) from error
    return parse_dictionary(text, str(path))


def parse_dictionary(text: str, source: str = "dictionary") -> Dictionary:
    """Read a dictionary from the text of its file.

    Raises:
        DictionaryError: one line for every mistake, each with ``source`` and the line number.
    """
    mistakes: list[DictionaryMistake] = []
    words: list[Word] = []
    lines: dict[str, int] = {}
    for key, value in _entries(text, source):
        line = key.start_mark.line + 1
        try:
            word = _word(key, value)
        except ValueError as error:
            mistakes.append(DictionaryMistake(source, line, str(error)))
            continue
        earlier = lines.setdefault(fold(word.surface).lower(), line)
        if earlier != line:
            message = f"{word.surface!r} already stands in line {earlier}; keep one of the two"
            mistakes.append(DictionaryMistake(source, line, message))
        words.append(word)
    if mistakes:
        raise DictionaryError(*mistakes)
    return Dictionary(tuple(words), source)


def with_word(text: str, word: Word, source: str = "dictionary") -> str:
    """The text of the file with a word added, or changed where its surface stands already.

    All other lines stay as they are; so does a comment behind an entry of one line that is changed.

    Raises:
        DictionaryError: the text or the word is wrong, or the entry cannot be told from its neighbours.
    """
    entry = _entry(word)
    parse_dictionary(entry, "the word")
    words = parse_dictionary(text, source).words
    for key, value in _entries(text, source):
        if isinstance(key, yaml.ScalarNode) and _same(key.value, word.surface):
            start, end = _extent(text, key, value)
            comment = _trailing_comment(text, value)
            changed = text[:start] + entry.removesuffix("\n") + comment + "\n" + text[end:]
            expected = tuple(word if _same(other.surface, word.surface) else other for other in words)
            return _checked(changed, source, word.surface, expected)
    body = text if not text.strip() or text.endswith("\n") else text + "\n"
    if re.fullmatch(r"(?:\s|#[^\n]*\n?|---\n?)*\{\s*\}\s*", body):
        body = body[: body.index("{")]
    return _checked(body + entry, source, word.surface, (*words, word))


def with_words(text: str, words: Sequence[Word], source: str = "dictionary") -> str:
    """The text of the file with several words added or changed; see ``with_word``.

    Raises:
        DictionaryError: the text or a word is wrong; or an entry cannot be told from its neighbours.
    """
    latest = {fold(word.surface).lower(): word for word in words}
    known = {fold(word.surface).lower() for word in parse_dictionary(text, source).words}
    added = [word for key, word in latest.items() if key not in known]
    changed = [word for key, word in latest.items() if key in known]
    for word in [*changed, *added[:1]]:  # the first new one settles how the file begins and ends
        text = with_word(text, word, source)
    if added[1:]:
        before = parse_dictionary(text, source).words
        text = _checked(text + "".join(map(_entry, added[1:])), source, added[1].surface, (*before, *added[1:]))
    return text


def without_word(text: str, surface: str, source: str = "dictionary") -> str:
    """The text of the file without a word.

    Raises:
        DictionaryError: the text is wrong, no such word stands in it, or it cannot be told from its neighbours.
    """
    words = parse_dictionary(text, source).words
    for key, value in _entries(text, source):
        if isinstance(key, yaml.ScalarNode) and _same(key.value, surface):
            start, end = _extent(text, key, value)
            expected = tuple(word for word in words if not _same(word.surface, surface))
            return _checked(text[:start] + text[end:], source, surface, expected)
    raise DictionaryError(DictionaryMistake(source, None, f"{surface!r} is not in the dictionary"))


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
    name = dictionary.source if dictionary else ""
    with ExitStack() as stack:
        try:  # not around the yield: what the caller does there is the caller's affair
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="asagoe-dictionary-"))
            result = _compile(words, Path(folder))
        except (OSError, subprocess.SubprocessError, ValueError) as error:
            message = f"Open JTalk cannot compile the dictionary: {error}"
            raise DictionaryError(DictionaryMistake(name, None, message)) from error
        yield str(result).encode()


def _compile(words: list[Word], folder: Path) -> Path:
    source, result = folder / "words.csv", folder / "words.dic"
    source.write_text("".join(_csv(word) for word in words), "utf-8")
    command = [sys.executable, "-I", "-c", _COMPILE, str(source), str(result)]
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False, timeout=120)
    if done.returncode or not result.is_file():
        raise ValueError(done.stderr.strip()[-300:] or "no reason given")
    return result


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
        line = error.problem_mark.line + 1 if error.problem_mark else None
        raise DictionaryError(DictionaryMistake(source, line, f"not YAML: {error.problem}")) from error
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        raise DictionaryError(DictionaryMistake(source, line, f"not YAML: {error.reason}")) from error
    except yaml.YAMLError as error:
        raise DictionaryError(DictionaryMistake(source, None, f"not YAML: {error}")) from error
    except RecursionError as error:
        message = "nested too deeply; a dictionary is a plain list of 'surface: reading'"
        raise DictionaryError(DictionaryMistake(source, None, message)) from error
    if root is None or (isinstance(root, yaml.ScalarNode) and not root.value):
        return []
    if not isinstance(root, yaml.MappingNode):
        message = "expected lines of the form 'surface: reading'"
        raise DictionaryError(DictionaryMistake(source, root.start_mark.line + 1, message))
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
            if (
                not isinstance(name, yaml.ScalarNode)
                or name.value not in _KEYS
                or not isinstance(fact, yaml.ScalarNode)
            ):
                found = repr(name.value) if isinstance(name, yaml.ScalarNode) else "a list or mapping as a key"
                message = f"{key.value!r} has {found}; known are {', '.join(sorted(_KEYS))}"
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
    if isinstance(value, yaml.ScalarNode) and value.style in ("|", ">"):
        return start, int(value.end_mark.index)  # the end of a block of text is the beginning of the next line
    end = text.find("\n", value.end_mark.index)
    return start, len(text) if end < 0 else end + 1


def _trailing_comment(text: str, value: yaml.Node) -> str:
    """What follows an entry on its last line, where that is a comment."""
    if value.start_mark.line != value.end_mark.line:
        return ""
    end = text.find("\n", value.end_mark.index)
    rest = text[value.end_mark.index : len(text) if end < 0 else end]
    return rest.rstrip() if rest.strip().startswith("#") else ""


def _checked(text: str, source: str, surface: str, expected: tuple[Word, ...]) -> str:
    """The changed text, unless it holds other words than it should."""
    try:
        words: tuple[Word, ...] | None = parse_dictionary(text, source).words
    except DictionaryError:
        words = None
    if words != expected:
        message = f"the entry of {surface!r} shares its lines with others; give every entry lines of its own"
        raise DictionaryError(DictionaryMistake(source, None, message))
    return text
