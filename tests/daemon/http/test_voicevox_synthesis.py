"""Queries become sound, and every field that is honoured is heard."""

import base64
import io
import zipfile

import numpy as np
import pytest

from tests.daemon.http.conftest import sound_of


@pytest.fixture(scope="module")
def plain(node):
    query = node.query("箸を置く。それから、休む。")
    return query, node.speak(query).sound


def heard(node, query, **changes):
    return node.speak({**query, **changes}).sound


def test_what_was_not_edited_sounds_as_the_house_says_it(node):
    query = {**node.query("洗濯が終わりました。"), "prePhonemeLength": 0.0, "postPhonemeLength": 0.0}
    theirs = node.speak(query).sound.samples[:, 0]
    ours = node.service.house.tts.speakers["mei"].generate("洗濯が終わりました。").samples
    at = np.flatnonzero(np.abs(ours) > np.abs(ours).max() * 10 ** (-50 / 20))
    ours = ours[at[0] : at[-1] + 1]
    assert len(theirs) == len(ours)
    assert np.abs(theirs - ours).max() < 2e-4


def test_an_edited_accent_changes_the_pitch_and_not_the_words(node):
    query = node.query("はい")
    params = {"text": "マ'ナマナマナ", "speaker": node.style(), "is_kana": "true"}
    phrases = node.ask("POST", "/accent_phrases", params=params).json
    falling = heard(node, {**query, "accent_phrases": phrases})
    phrases[0]["accent"] = 5
    high = heard(node, {**query, "accent_phrases": phrases})
    assert high.seconds == pytest.approx(falling.seconds, rel=0.1)
    # ＨＬＬＬＬＬ against ＬＨＨＨＨＬ, in the middle of the word.
    assert middle(high) > 1.15 * middle(falling)


def middle(sound):
    found = pitches(sound)
    return np.median(found[int(0.35 * len(found)) : int(0.7 * len(found))])


def pitches(sound):
    """Fundamental frequency of the voiced frames, in Hz."""
    world = pytest.importorskip("pyworld")
    found, _ = world.harvest(sound.samples[:, 0].copy(), sound.rate)
    return found[found > 0]


def test_rate_and_channels_are_those_that_were_asked_for(node, plain):
    query, mono = plain
    for rate in (8_000, 24_000, 44_100, 96_000):
        sound = heard(node, query, outputSamplingRate=rate)
        assert (sound.rate, sound.channels) == (rate, 1)
        assert sound.seconds == pytest.approx(mono.seconds, abs=0.002)
    stereo = heard(node, query, outputStereo=True)
    assert stereo.channels == 2
    assert np.array_equal(stereo.samples[:, 0], stereo.samples[:, 1])
    assert np.array_equal(stereo.samples[:, 0], mono.samples[:, 0])


@pytest.mark.parametrize(("before", "after"), [(0.1, 0.1), (0.0, 0.0), (1.0, 0.5), (0.01, 0.0)])
def test_silence_before_and_after_has_its_length(node, plain, before, after):
    quiet = heard(node, plain[0], prePhonemeLength=before, postPhonemeLength=after).quiet()
    # Quiet is what lies 50 dB below the peak: of the sentence in the server, of the whole here.
    assert quiet == (pytest.approx(before, abs=0.004), pytest.approx(after, abs=0.004))


def test_speed_changes_the_length_of_all(node, plain):
    query, normal = plain
    assert heard(node, query, speedScale=1.5).seconds == pytest.approx(normal.seconds / 1.5, rel=0.08)
    assert heard(node, query, speedScale=1.5, prePhonemeLength=1.5).quiet()[0] == pytest.approx(1.0, abs=0.004)


def test_volume_is_relative(node, plain):
    query, normal = plain
    half = heard(node, query, volumeScale=0.5)
    assert rms(half) == pytest.approx(rms(normal) / 2, rel=0.02)
    assert rms(heard(node, query, volumeScale=0.0)) == 0


def rms(sound):
    return float(np.sqrt(np.mean(sound.samples**2)))


def test_pitch_is_in_octaves(node):
    query = node.query("ああああああ。")
    normal, higher = heard(node, query), heard(node, query, pitchScale=0.25)
    assert np.median(pitches(higher)) / np.median(pitches(normal)) == pytest.approx(2**0.25, rel=0.04)


def test_a_pause_has_the_length_that_is_asked_for(node, plain):
    query, normal = plain
    one = heard(node, query, pauseLength=1.0)
    assert sorted(gaps(one, 0.5))[-2:] == [pytest.approx(1.0, abs=0.01)] * 2
    double = heard(node, query, pauseLength=0.5, pauseLengthScale=2.0)
    assert double.seconds == pytest.approx(one.seconds, abs=0.002)
    none = heard(node, query, pauseLengthScale=0.0)
    assert none.seconds < normal.seconds - 0.5
    edited = node.query("箸を置く。それから、休む。")
    edited["accent_phrases"][1]["pause_mora"]["vowel_length"] = 1.4  # between the sentences
    assert heard(node, edited).seconds == pytest.approx(normal.seconds + 1.0, abs=0.01)


def gaps(sound, longest):
    """Lengths of silences of at least so many seconds within the sound."""
    loud = np.flatnonzero(np.abs(sound.samples[:, 0]) > 10 ** (-50 / 20) * np.abs(sound.samples).max())
    steps = np.diff(loud) / sound.rate
    return [float(step) for step in steps if step >= longest]


def test_what_the_voice_does_not_have_is_named(node, plain):
    answer = node.speak({**plain[0], "intonationScale": 1.5})
    assert answer.headers["X-Asagoe-Ignored"] == "intonationScale"
    assert "X-Asagoe-Ignored" not in node.speak(plain[0]).headers


def test_without_phrases_there_is_silence(node):
    sound = node.speak({**node.query(""), "prePhonemeLength": 0.25}).sound
    assert sound.seconds == pytest.approx(0.35)
    assert not sound.samples.any()


def test_a_query_without_its_text_and_with_unknown_fields_is_spoken(node):
    query = node.query("箸を置く。")
    del query["text"], query["kana"]
    assert 0.5 < heard(node, {**query, "tempoDynamicsScale": 1.0}).seconds < 1.5


def test_several_queries_come_in_a_zip(node, plain):
    query, sound = plain
    body = [query, {**query, "speedScale": 2.0}]
    answer = node.ask("POST", "/multi_synthesis", params={"speaker": node.style()}, body=body)
    with zipfile.ZipFile(io.BytesIO(answer.body)) as archive:
        assert archive.namelist() == ["001.wav", "002.wav"]
        assert np.array_equal(sound_of(archive.read("001.wav")).samples, sound.samples)
        assert sound_of(archive.read("002.wav")).seconds < sound.seconds


def test_waves_are_connected_at_the_highest_rate(node, plain):
    query, sound = plain
    low = node.speak({**query, "outputSamplingRate": 24_000}).body
    high = node.speak({**query, "outputStereo": True}).body
    waves = [base64.b64encode(data).decode() for data in (low, high)]
    joined = node.ask("POST", "/connect_waves", body=waves).sound
    assert (joined.rate, joined.channels) == (48_000, 2)
    assert joined.seconds == pytest.approx(2 * sound.seconds, abs=0.002)
    answer = node.ask("POST", "/connect_waves", body=["bm8gd2F2ZQ=="], status=422)
    assert answer.json == {"detail": "wave 1 is not a PCM WAV file in base64"}
    assert node.ask("POST", "/connect_waves", body=[], status=422).json == {"detail": "there is no wave to connect"}


@pytest.mark.parametrize(
    "change",
    [
        {"speedScale": 0.01},
        {"volumeScale": 3},
        {"pitchScale": 9},
        {"outputSamplingRate": 1},
        {"prePhonemeLength": -1},
        {"speedScale": float("nan")},
        {"volumeScale": float("inf")},
    ],
)
def test_values_out_of_range_are_refused(node, plain, change):
    params = {"speaker": node.style()}
    answer = node.ask("POST", "/synthesis", params=params, body={**plain[0], **change}, status=422)
    assert answer.json["detail"][0]["loc"] == ["body", next(iter(change))]


def test_sound_is_bounded(node):
    query = node.query("はい。" * 100)
    query |= {"pauseLength": 60.0, "outputSamplingRate": 192_000, "outputStereo": True}
    answer = node.ask("POST", "/synthesis", params={"speaker": node.style()}, body=query, status=422)
    assert "would be larger than 64,000,000 bytes" in answer.json["detail"]
