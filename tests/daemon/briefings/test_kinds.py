import sys

import pytest

from daemon.briefings.kinds import bundled_kinds, kind_named, kind_names
from daemon.briefings.section import Kind
from daemon.briefings.words.packs import LANGUAGES
from daemon.briefings.words.template import compile_template
from daemon.config import ConfigError, parse_config
from daemon.config.base import Model
from tests.fakes.briefings import House

MODULE = '''
from pydantic import Field
from daemon.config.base import Model
from daemon.errors import SectionError

class TideSettings(Model):
    """The tide of a harbour."""
    harbour: str = Field(min_length=1)
    fail: bool = False

class Tide:
    def __init__(self, settings):
        self.settings = settings
    async def fetch(self, surroundings):
        if self.settings.fail:
            raise RuntimeError("KEY123")
        return {"high": "07:30"}
    def facts(self, data, surroundings):
        return {"harbour": self.settings.harbour, "high": data["high"]}

class TideKind:
    name = "tide"
    settings = TideSettings
    def section(self, settings):
        return Tide(settings)
    def template(self, language):
        return "{{ harbour }}の満潮は{{ high | time }}です。"

KIND = TideKind()
class Worse(TideKind):
    name = "worse"
    def section(self, settings):
        raise KeyError(settings.harbour)
class Silly(TideKind):
    name = "silly"
    def template(self, language):
        return "{{ harbour"
BROKEN = object()
class Loose:
    name = "loose"; settings = dict; section = template = None
'''


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """A package of somebody else's, installed as pip leaves it behind: a module and its dist-info."""
    (tmp_path / "tides.py").write_text(MODULE, encoding="utf-8")
    info = tmp_path / "asagoe_tides-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: asagoe-tides\nVersion: 1.0\n", encoding="utf-8")
    (info / "entry_points.txt").write_text(
        "[asagoe.sections]\ntide = tides:KIND\ndate = tides:KIND\nbroken = tides:BROKEN\nloose = tides:Loose\n"
        "worse = tides:Worse\nsilly = tides:Silly\n"
        "missing = tides_of_nowhere:KIND\n",
        encoding="utf-8",
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    kind_named.cache_clear()
    yield
    kind_named.cache_clear()
    sys.modules.pop("tides", None)


def test_the_kinds_that_come_along_keep_the_contract():
    for kind in bundled_kinds():
        checked: Kind = kind
        assert checked.name in kind_names()
        assert issubclass(checked.settings, Model)
        assert checked.settings.__doc__
        assert all(field.description for name, field in checked.settings.model_fields.items()), checked.name
        for language in (*LANGUAGES, "fr"):
            compile_template(checked.template(language))


def test_another_package_can_add_a_kind(installed, tmp_path):
    assert kind_names()[:2] == ["date", "text"]
    assert "tide" in kind_names()
    house = House(tmp_path)
    assert house.tell("{kind: tide, harbour: 横浜港}").text == "横浜港の満潮は午前7時半です。"
    with pytest.raises(ConfigError, match=r"sections\[0\].harbor: unknown key; did you mean harbour"):
        parse_config("briefings: {m: {sections: [{kind: tide, harbor: x}]}}")


def test_the_defect_of_another_package_takes_nothing_along_and_tells_no_secret(installed, tmp_path, caplog):
    house = House(tmp_path)
    composed = house.tell("{kind: tide, harbour: 横浜港, fail: true}", "{kind: text, text: 以上です。}")
    assert composed.text == "以上です。"
    assert composed.parts[0].left_out_because == "a defect in the section: RuntimeError"
    assert "tides.py:" in caplog.text
    assert "KEY123" not in caplog.text


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("worse", "a defect in the kind 'worse': KeyError"),
        ("silly", "the template cannot be read: unexpected end of template, expected 'end of print statement'"),
    ],
)
def test_a_section_that_its_package_cannot_make_is_left_out_alone(installed, tmp_path, caplog, name, reason):
    house = House(tmp_path)
    composed = house.tell(f"{{kind: {name}, harbour: KEY123}}", "{kind: text, text: 以上です。}")
    assert (composed.text, composed.parts[0].left_out_because) == ("以上です。", reason)
    assert "KEY123" not in caplog.text


def test_a_name_that_comes_along_is_not_taken_over(installed):
    assert type(kind_named("date")).__module__ == "daemon.briefings.sections.bundled"


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("broken", "the kind 'broken' of asagoe-tides is no kind of section: it lacks name, settings"),
        ("loose", "the kind 'loose' of asagoe-tides cannot be used: its settings must be a subclass"),
        ("missing", "the kind 'missing' of asagoe-tides cannot be loaded: ModuleNotFoundError"),
    ],
)
def test_a_package_that_cannot_be_used_is_an_error_of_the_key(installed, name, words):
    with pytest.raises(ConfigError) as caught:
        parse_config(f"briefings:\n  m:\n    sections:\n      - {{kind: {name}}}\n", "x.yaml")
    assert f"x.yaml:4: briefings.m.sections[0].kind: {words}" in str(caught.value)
