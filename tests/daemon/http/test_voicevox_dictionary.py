"""The dictionary of VOICEVOX clients is Asagoe's own file, and what is added is read at once."""

import stat

import pytest

from engine import load_dictionary


def kana(node, text):
    return node.query(text)["kana"]


def add(node, surface, pronunciation, accent=1, status=200, **more):
    params = {"surface": surface, "pronunciation": pronunciation, "accent_type": accent, **more}
    return node.ask("POST", "/user_dict_word", params=params, status=status)


def test_the_words_of_the_file_are_listed(node):
    ((uuid, word),) = [item for item in node.ask("GET", "/user_dict").json.items() if item[1]["surface"] == "謎町"]
    assert (word["pronunciation"], word["yomi"], word["accent_type"], word["mora_count"]) == ("アマチ", "アマチ", 1, 3)
    assert (word["part_of_speech"], word["part_of_speech_detail_1"], word["priority"]) == ("名詞", "固有名詞", 5)
    assert len(uuid) == 36


def test_a_word_that_is_added_is_read_at_once_and_kept_in_the_file(node):
    assert kana(node, "怪森駅です。") != "カイシンエ'キデ_ス"
    uuid = add(node, "怪森駅", "カイシンエキ", 5).json
    assert kana(node, "怪森駅です。") == "カイシンエ'キデ_ス"
    text = node.words.read_text("utf-8")
    assert text.startswith("# ours\n謎町:")  # what stood there stays
    assert load_dictionary(node.words).find("怪森駅").accent == 5
    params = {"surface": "怪森駅", "pronunciation": "アヤシモリ", "accent_type": 0, "word_type": "LOCATION_NAME"}
    node.ask("PUT", f"/user_dict_word/{uuid}", params=params, status=204)
    assert kana(node, "怪森駅").startswith("アヤシモリ")
    assert node.ask("GET", "/user_dict").json[uuid]["part_of_speech_detail_2"] == "地域"
    node.ask("DELETE", f"/user_dict_word/{uuid}", status=204)
    assert not kana(node, "怪森駅").startswith("アヤシモリ")
    assert load_dictionary(node.words).find("怪森駅") is None


def test_a_word_may_change_its_surface(node):
    uuid = add(node, "旧町", "フルマチ").json
    params = {"surface": "新町", "pronunciation": "アラマチ", "accent_type": 1}
    node.ask("PUT", f"/user_dict_word/{uuid}", params=params, status=204)
    surfaces = {word["surface"] for word in node.ask("GET", "/user_dict").json.values()}
    assert {"新町"} <= surfaces
    assert "旧町" not in surfaces


def test_a_word_has_the_same_uuid_every_time(node):
    assert add(node, "ABC製作所", "エービーシー").json == add(node, "abc製作所", "エビシ").json


@pytest.mark.parametrize(
    ("surface", "pronunciation", "accent", "more", "reason"),
    [
        ("", "カナ", 1, {}, "surface '' must have 1 to 40 characters"),
        ("漢字", "漢字", 1, {}, "reading '漢字' must be 1 to 40 kana"),
        ("漢字", "カンジ", 4, {}, "accent '4' must be a whole number from 0 to 3"),
        ("走る", "ハシル", 2, {"word_type": "VERB"}, "VERB is not kept in this dictionary"),
        ("a\nb", "カンジ", 1, {}, "none of them a brace, a bar or a line end"),
    ],
)
def test_a_wrong_word_changes_nothing(node, surface, pronunciation, accent, more, reason):
    before = node.words.read_bytes()
    answer = add(node, surface, pronunciation, accent, status=422, **more)
    assert reason in answer.json["detail"]
    assert node.words.read_bytes() == before


def test_an_import_is_all_or_nothing(node):
    def word(surface, reading, accent=1, **more):
        return {"surface": surface, "pronunciation": reading, "accent_type": accent, **more}

    before = node.words.read_bytes()
    bad = {"1": word("輸入一", "ユニュウイチ"), "2": word("輸入二", "だめ!")}
    node.ask("POST", "/import_user_dict", params={"override": "true"}, body=bad, status=422)
    assert node.words.read_bytes() == before
    good = {"1": word("輸入一", "イチバン"), "2": word("輸入二", "ニバン", priority=9), "3": word("謎町", "カエタ")}
    node.ask("POST", "/import_user_dict", params={"override": "false"}, body=good, status=204)
    words = {w["surface"]: w["pronunciation"] for w in node.ask("GET", "/user_dict").json.values()}
    assert (words["輸入一"], words["輸入二"], words["謎町"]) == ("イチバン", "ニバン", "アマチ")
    node.ask("POST", "/import_user_dict", params={"override": "true"}, body=good, status=204)
    words = {w["surface"]: w["pronunciation"] for w in node.ask("GET", "/user_dict").json.values()}
    assert words["謎町"] == "カエタ"
    # What was listed can be imported again.
    node.ask(
        "POST", "/import_user_dict", params={"override": "true"}, body=node.ask("GET", "/user_dict").json, status=204
    )


def test_an_unknown_uuid_is_not_found(node):
    params = {"surface": "x", "pronunciation": "カ", "accent_type": 0}
    node.ask("PUT", "/user_dict_word/nope", params=params, status=404)
    node.ask("DELETE", "/user_dict_word/nope", status=404)


def test_without_a_dictionary_it_is_said_what_to_do(make_node):
    with make_node(dictionary=None) as node:
        assert node.ask("GET", "/user_dict").json == {}
        answer = add(node, "謎", "ナゾ", status=409)
        assert answer.json == {
            "detail": "no dictionary is configured; add the line dictionary: dictionary.yaml to the configuration"
        }


def test_a_file_that_cannot_be_written_leaves_the_words_in_use(make_node, monkeypatch):
    with make_node() as node:

        def full(*_):
            raise OSError(28, "No space left on device")

        monkeypatch.setattr("daemon.dictionary_file._write", full)
        answer = add(node, "空白町", "クウハクチョウ", status=409)
        assert answer.json == {"detail": "the dictionary words.yaml cannot be written: No space left on device"}
        assert "クウハクチョウ" not in kana(node, "空白町")
        assert kana(node, "謎町") == "ア'マチ"
        assert stat.S_ISREG(node.words.stat().st_mode)
