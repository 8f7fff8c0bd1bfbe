"""The objects of VOICEVOX's interface. Names and meaning of the fields are those of its OpenAPI document."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from engine.prosody import MoraProsody, predict
from engine.text import AccentPhrase, Mora

MAX_PHRASES = 1_000
MAX_MORAS = 4_000
"""Of a request."""
PAUSE = "pau"


def _text(value: str) -> str:
    if any("\ud800" <= character <= "\udfff" for character in value):
        message = "half of a surrogate pair is no character"
        raise ValueError(message)
    return value


Text = Annotated[str, AfterValidator(_text)]
Seconds = Annotated[float, Field(ge=0, le=60, allow_inf_nan=False)]
Number = Annotated[float, Field(allow_inf_nan=False)]
Speed = Annotated[float, Field(ge=0.25, le=4, allow_inf_nan=False)]
Pitch = Annotated[float, Field(ge=-1, le=1, allow_inf_nan=False)]
Times = Annotated[float, Field(ge=0, le=2, allow_inf_nan=False)]
Rate = Annotated[int, Field(ge=8_000, le=192_000)]


class VoicevoxModel(BaseModel):
    """Unknown fields are passed over: clients of other engines send more."""

    model_config = ConfigDict(extra="ignore")


class MoraModel(VoicevoxModel):
    """One beat of speech, or a pause."""

    text: Annotated[Text, Field(max_length=8)] = Field(description="katakana; 、 for a pause")
    consonant: Annotated[Text, Field(max_length=8)] | None = None
    consonant_length: Seconds | None = Field(default=None, description="seconds; told, not honoured")
    vowel: Annotated[Text, Field(max_length=8)] = Field(description="in capitals where it is devoiced; N, cl, pau")
    vowel_length: Seconds = Field(description="seconds; honoured of a pause, told of all else")
    pitch: Number = Field(description="natural logarithm of Hz, 0 without voice; told, not honoured")

    @classmethod
    def of(cls, mora: Mora, sound: MoraProsody) -> MoraModel:
        """A mora with its prosody."""
        return cls(
            text=mora.text,
            consonant=mora.consonant or None,
            consonant_length=round(sound.consonant, 4) if mora.consonant else None,
            vowel=mora.vowel,
            vowel_length=round(sound.vowel, 4),
            pitch=round(sound.pitch, 4),
        )

    @classmethod
    def pause(cls, seconds: float) -> MoraModel:
        """A pause."""
        return cls(text="、", vowel=PAUSE, vowel_length=seconds, pitch=0.0)


class AccentPhraseModel(VoicevoxModel):
    """Moras with one accent."""

    moras: Annotated[list[MoraModel], Field(min_length=1, max_length=500)]
    accent: int = Field(ge=1, description="the mora after which the pitch falls, from 1; the last of a flat phrase")
    pause_mora: MoraModel | None = None
    is_interrogative: bool = False

    @model_validator(mode="after")
    def _speakable(self) -> AccentPhraseModel:
        self.phrase()
        return self

    def phrase(self) -> AccentPhrase:
        """As the engine has it.

        Raises:
            ValueError: a mora is none, or the accent is outside the phrase.
        """
        moras = tuple(Mora.of_phonemes(mora.consonant or "", mora.vowel) for mora in self.moras)
        pause = None if self.pause_mora is None else self.pause_mora.vowel_length
        return AccentPhrase(moras, self.accent, pause, self.is_interrogative)


def _few_enough(phrases: list[AccentPhraseModel]) -> list[AccentPhraseModel]:
    count = sum(len(phrase.moras) for phrase in phrases)
    if count > MAX_MORAS:
        message = f"{count:,} moras are too many; at most {MAX_MORAS:,} are taken"
        raise ValueError(message)
    return phrases


Phrases = Annotated[list[AccentPhraseModel], Field(max_length=MAX_PHRASES), AfterValidator(_few_enough)]


def models_of(phrases: tuple[AccentPhrase, ...]) -> list[AccentPhraseModel]:
    """Accent phrases with lengths and pitches, as clients know them."""
    return [
        AccentPhraseModel(
            moras=[MoraModel.of(mora, sound) for mora, sound in zip(phrase.moras, sounds, strict=True)],
            accent=phrase.accent,
            pause_mora=None if phrase.pause is None else MoraModel.pause(phrase.pause),
            is_interrogative=phrase.is_interrogative,
        )
        for phrase, sounds in zip(phrases, predict(phrases), strict=True)
    ]


class Scales(VoicevoxModel):
    """How to speak, as queries and presets have it."""

    speedScale: Speed = Field(default=1.0, description="1.2 is faster")
    pitchScale: Pitch = Field(default=0.0, description="octaves; 0.1 is 1.2 semitones higher")
    intonationScale: Times = Field(default=1.0, description="range of the pitch around its mean")
    volumeScale: Times = Field(default=1.0, description="relative to the even loudness")
    prePhonemeLength: Seconds = Field(default=0.1, description="seconds of silence before, at speed 1")
    postPhonemeLength: Seconds = Field(default=0.1, description="seconds of silence after, at speed 1")
    pauseLength: Seconds | None = Field(default=None, description="seconds of every pause, at speed 1")
    pauseLengthScale: Times = Field(default=1.0, description="how much longer pauses are")


class AudioQuery(Scales):
    """All that decides how something sounds."""

    accent_phrases: Phrases
    outputSamplingRate: Rate = Field(default=24_000, description="Hz")
    outputStereo: bool = False
    kana: Annotated[Text, Field(max_length=20_000)] | None = Field(default=None, description="told, not read")
    text: Annotated[Text, Field(max_length=20_000)] | None = Field(
        default=None,
        description="Asagoe's own: the text that the phrases came from. Neural voices look at its words, where they"
        " have the same moras; a client that drops it is heard all the same.",
    )


class Preset(Scales):
    """A way to speak under a number."""

    id: Annotated[int, Field(ge=-1, le=2**31 - 1)]
    name: Annotated[Text, Field(max_length=200)]
    speaker_uuid: Annotated[Text, Field(max_length=64)]
    style_id: Annotated[int, Field(ge=0, le=2**31 - 1)]


class ParseKanaBadRequest(VoicevoxModel):
    """What is wrong with kana."""

    text: str
    error_name: str
    error_args: dict[str, str]


class KanaProblem(VoicevoxModel):
    """The answer to kana that break the notation."""

    detail: ParseKanaBadRequest


class StyleModel(VoicevoxModel):
    """A style of a speaker."""

    name: str
    id: int
    type: Literal["talk"] = "talk"


class SpeakerFeatures(VoicevoxModel):
    """What else can be done with a speaker."""

    permitted_synthesis_morphing: Literal["NOTHING"] = "NOTHING"


class SpeakerModel(VoicevoxModel):
    """A speaker with its styles."""

    name: str
    speaker_uuid: str
    styles: list[StyleModel]
    version: str
    supported_features: SpeakerFeatures = SpeakerFeatures()


class StyleInfo(VoicevoxModel):
    """What there is to see and hear of a style."""

    id: int
    icon: str
    portrait: str | None = None
    voice_samples: list[str]


class SpeakerInfo(VoicevoxModel):
    """What there is to know of a speaker."""

    policy: str
    portrait: str
    style_infos: list[StyleInfo]


class SupportedDevices(VoicevoxModel):
    """On what it can compute."""

    cpu: bool
    cuda: bool
    dml: bool


class Manifest(VoicevoxModel):
    """What this engine is and can do."""

    manifest_version: str
    name: str
    brand_name: str
    uuid: str
    url: str
    icon: str
    default_sampling_rate: int
    frame_rate: float
    terms_of_service: str
    update_infos: list[dict[str, Any]]
    dependency_licenses: list[dict[str, Any]]
    supported_vvlib_manifest_version: str | None = None
    supported_features: dict[str, bool]


WordType = Literal[
    "PROPER_NOUN",
    "LOCATION_NAME",
    "ORGANIZATION_NAME",
    "PERSON_NAME",
    "PERSON_FAMILY_NAME",
    "PERSON_GIVEN_NAME",
    "COMMON_NOUN",
    "VERB",
    "ADJECTIVE",
    "SUFFIX",
]


class UserDictWord(VoicevoxModel):
    """A word of the user's dictionary."""

    surface: Annotated[Text, Field(max_length=200)]
    priority: Annotated[int, Field(ge=0, le=10)] = 5
    context_id: Annotated[int, Field(ge=0, le=2**31 - 1)] = 1348
    part_of_speech: Annotated[Text, Field(max_length=20)] = "名詞"
    part_of_speech_detail_1: Annotated[Text, Field(max_length=20)] = "固有名詞"
    part_of_speech_detail_2: Annotated[Text, Field(max_length=20)] = "一般"
    part_of_speech_detail_3: Annotated[Text, Field(max_length=20)] = "*"
    inflectional_type: Annotated[Text, Field(max_length=20)] = "*"
    inflectional_form: Annotated[Text, Field(max_length=20)] = "*"
    stem: Annotated[Text, Field(max_length=200)] = "*"
    yomi: Annotated[Text, Field(max_length=200)] = ""
    pronunciation: Annotated[Text, Field(max_length=200)]
    accent_type: Annotated[int, Field(ge=0, le=99)]
    mora_count: Annotated[int, Field(ge=0, le=200)] | None = None
    accent_associative_rule: Annotated[Text, Field(max_length=20)] = "*"
