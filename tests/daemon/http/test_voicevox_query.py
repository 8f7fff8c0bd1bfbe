"""Texts become accent phrases and queries, in the form that VOICEVOX clients know."""

import pytest

from tests.daemon.http.conftest import TEXT

KANA = "キョ'オワ、イ'イ/テ'ンキデ_スカ？、ハ'シオ/オク'"


def test_a_query_has_readings_accents_and_the_speakers_own_settings(node):
    query = node.query()
    assert query["kana"] == KANA
    assert [phrase["accent"] for phrase in query["accent_phrases"]] == [1, 1, 1, 1, 2]
    assert [phrase["is_interrogative"] for phrase in query["accent_phrases"]] == [False, False, True, False, False]
    first = query["accent_phrases"][0]
    assert [(m["text"], m["consonant"], m["vowel"]) for m in first["moras"]] == [
        ("キョ", "ky", "o"),
        ("オ", None, "o"),
        ("ワ", "w", "a"),
    ]
    assert first["pause_mora"]["text"] == "、"
    assert first["pause_mora"]["vowel"] == "pau"
    assert query["accent_phrases"][2]["pause_mora"]["vowel_length"] == 0.4  # between sentences
    assert query["accent_phrases"][-1]["pause_mora"] is None
    scales = {key: query[key] for key in ("speedScale", "pitchScale", "intonationScale", "volumeScale")}
    assert scales == {"speedScale": 1.0, "pitchScale": 0.0, "intonationScale": 1.0, "volumeScale": 1.0}
    assert (query["outputSamplingRate"], query["outputStereo"]) == (48_000, False)
    assert query["text"] == TEXT


def test_lengths_and_pitches_are_those_of_the_embedded_voice(node):
    moras = node.query("今日は、いい天気ですか?")["accent_phrases"][2]["moras"]
    assert [mora["text"] for mora in moras] == ["テ", "ン", "キ", "デ", "ス", "カ"]
    assert all(0.02 <= mora["vowel_length"] <= 0.3 for mora in moras)
    assert [mora["pitch"] == 0 for mora in moras] == [False, False, False, False, True, False]  # ス is devoiced
    assert all(5.0 < mora["pitch"] < 6.5 for mora in moras if mora["pitch"])  # 150 to 660 Hz


def test_kana_become_the_accent_phrases_that_they_say(node):
    phrases = node.ask(
        "POST",
        "/accent_phrases",
        params={"text": "ハシ'オ/オク", "speaker": node.style(), "is_kana": "true"},
        status=400,
    )
    assert phrases.json["detail"]["error_name"] == "ACCENT_NOTFOUND"
    assert phrases.json["detail"]["error_args"] == {"text": "オク"}
    phrases = node.ask(
        "POST", "/accent_phrases", params={"text": "ハシ'オ/オク'", "speaker": node.style(), "is_kana": "true"}
    ).json
    assert [("".join(m["text"] for m in p["moras"]), p["accent"]) for p in phrases] == [("ハシオ", 2), ("オク", 2)]


def test_an_empty_or_unreadable_text_has_no_phrases(node):
    assert node.query("")["accent_phrases"] == []
    assert node.query("…☆")["accent_phrases"] == []


@pytest.mark.parametrize("path", ["/mora_data", "/mora_length", "/mora_pitch"])
def test_edited_phrases_get_lengths_and_pitches_anew_and_keep_their_pauses(node, path):
    phrases = node.query("箸を置く。それから")["accent_phrases"]
    edited = [dict(phrase) for phrase in phrases]
    edited[0]["accent"] = 2
    edited[1]["pause_mora"] = {**edited[1]["pause_mora"], "vowel_length": 1.25}
    again = node.ask("POST", path, params={"speaker": node.style()}, body=edited).json
    assert again[0]["accent"] == 2
    assert again[1]["pause_mora"]["vowel_length"] == 1.25
    before, after = ([m["pitch"] for m in p[0]["moras"]] for p in (phrases, again))
    assert after[1] > before[1] + 0.05  # シ is high now
    unedited = node.ask("POST", path, params={"speaker": node.style()}, body=phrases).json
    assert unedited == phrases


@pytest.mark.parametrize(
    ("kana", "name"),
    [
        ("こんにちは", "UNKNOWN_TEXT"),
        ("コンニチワ", "ACCENT_NOTFOUND"),
        ("'コンニチワ", "ACCENT_TOP"),
        ("コ'ンニ'チワ", "ACCENT_TWICE"),
        ("コンニチワ'//", "EMPTY_PHRASE"),
        ("コンニ？チワ'", "INTERROGATION_MARK_NOT_AT_END"),
    ],
)
def test_what_is_wrong_with_kana_is_named(node, kana, name):
    answer = node.ask("POST", "/validate_kana", params={"text": kana}, status=400)
    assert answer.json["detail"]["error_name"] == name
    assert node.ask("POST", "/validate_kana", params={"text": "コンニチワ'"}).json is True


def test_an_unknown_style_is_told(node):
    answer = node.ask("POST", "/audio_query", params={"text": "はい", "speaker": 12345}, status=404)
    assert answer.json == {"detail": "no style has the number 12345; GET /speakers lists them"}


def test_a_mora_that_does_not_exist_is_refused_in_fastapis_form(node):
    phrase = {"moras": [{"text": "カ", "consonant": "qq", "vowel": "a", "vowel_length": 0.1, "pitch": 5}], "accent": 1}
    answer = node.ask("POST", "/mora_data", params={"speaker": node.style()}, body=[phrase], status=422)
    (mistake,) = answer.json["detail"]
    assert mistake["loc"] == ["body", 0]
    assert mistake["msg"] == "no mora has the phonemes 'qq a'"


def test_a_text_is_bounded(node):
    answer = node.ask("POST", "/audio_query", params={"text": "あ" * 3001, "speaker": node.style()}, status=422)
    assert "3,001 characters; at most 3,000" in answer.json["detail"]


def test_presets_are_kept_and_used(node):
    assert node.ask("GET", "/presets").json == []
    preset = {"id": 7, "name": "速い", "speaker_uuid": "x", "style_id": node.style(), "speedScale": 1.5}
    preset |= {"pitchScale": 0.0, "intonationScale": 1.0, "volumeScale": 0.5, "pauseLength": 0.9}
    assert node.ask("POST", "/add_preset", body=preset).json == 7
    assert node.ask("POST", "/add_preset", body=preset).json == 0  # taken: another number
    query = node.ask("POST", "/audio_query_from_preset", params={"text": "はい。", "preset_id": 7}).json
    assert (query["speedScale"], query["volumeScale"], query["pauseLength"]) == (1.5, 0.5, 0.9)
    assert node.ask("POST", "/update_preset", body={**preset, "speedScale": 0.8}).json == 7
    assert {p["id"]: p["speedScale"] for p in node.ask("GET", "/presets").json} == {7: 0.8, 0: 1.5}
    node.ask("POST", "/delete_preset", params={"id": 0}, status=204)
    assert node.ask("POST", "/delete_preset", params={"id": 0}, status=422).json == {"detail": "there is no preset 0"}
    node.ask("POST", "/delete_preset", params={"id": 7}, status=204)
