import pytest

from engine import VoiceNotAvailableError
from engine.sources import LocalSource, parse_source
from engine.sources.hub import HubRemote
from engine.sources.s3 import S3Remote


@pytest.mark.parametrize(
    ("text", "remote"),
    [
        ("hf://lemondouble/hayakoe", HubRemote("lemondouble/hayakoe")),
        ("hf://me/my.voices_2@v1.0", HubRemote("me/my.voices_2", "v1.0")),
        ("hf://me/voices@refs/pr/3", HubRemote("me/voices", "refs/pr/3")),
        ("https://huggingface.co/me/voices", HubRemote("me/voices")),
        ("https://huggingface.co/me/voices/tree/v2/", HubRemote("me/voices", "v2")),
        ("s3://tts-prod", S3Remote("tts-prod")),
        ("s3://tts-prod/voices/", S3Remote("tts-prod", "voices")),
        ("s3://tts-prod/a/b c", S3Remote("tts-prod", "a/b c")),
    ],
)
def test_remote_sources_are_understood(text, remote):
    parsed = parse_source(text)
    assert (parsed.family, parsed.remote, parsed.tree) == ("style_bert_vits2", remote, None)


@pytest.mark.parametrize(
    "text", ["file:///srv/voices", "file://localhost/srv/voices", "/srv/voices", "file:///srv/%76oices"]
)
def test_folders_are_understood(text):
    assert parse_source(text).tree == LocalSource(LocalSource(parse_source("/srv/voices").tree.root).root)


def test_the_embedded_voice_needs_no_tree():
    parsed = parse_source("openjtalk:mei")
    assert (parsed.family, parsed.model, parsed.tree, parsed.remote) == ("openjtalk", "mei", None, None)


@pytest.mark.parametrize(
    ("text", "advice"),
    [
        ("user/repo", "for the hub write hf://user/repo; a folder is named by its absolute path"),
        ("HF://user/repo", "hf is written in small letters"),
        ("Hf://user/repo", "small letters"),
        ("hf:user/repo", "write hf://USER/REPOSITORY"),
        ("hf://user", "write hf://USER/REPOSITORY"),
        ("hf://user/repo/sub", "write hf://USER/REPOSITORY"),
        ("hf://user/repo@", "write hf://"),
        ("hf://user/repo?x=1", "write hf://"),
        ("hf://../repo", "write hf://"),
        ("hf://user/re..po", "write hf://"),
        ("hf://user/repo@../../x", "write hf://"),
        ("hf://token@user/repo", "write hf://"),
        ("s3://", "write s3://BUCKET"),
        ("s3://B", "write s3://BUCKET"),
        ("s3://bucket/../other", "write s3://BUCKET"),
        ("s3://bucket//x", "write s3://BUCKET"),
        ("s3:bucket", "write s3://BUCKET"),
        ("~/voices", "~ is not expanded"),
        ("~", "~ is not expanded"),
        ("./voices", "absolute path"),
        ("voices/a/b", "absolute path"),
        ("file://~/x", "~ is not expanded"),
        ("file:///~/x", "~ is not expanded"),
        ("file://other-host/x", "as /srv/voices or file:///srv/voices"),
        ("file:///a/../../etc", "as /srv/voices or file:///srv/voices"),
        ("file:relative", "as /srv/voices or file:///srv/voices"),
        ("/a/../b", "absolute path"),
        ("OPENJTALK:mei", "openjtalk is written in small letters"),
        ("openjtalk:", "write openjtalk:NAME"),
        ("http://huggingface.co/me/voices", "known are"),
        ("https://huggingface.co/me/voices/blob/main/x", "known are"),
        ("ftp://x/y", "known are"),
        ("", "known are"),
        (" hf://me/voices", "known are"),
        ("hf://me/voices\n", "known are"),
        ("hf://me/vo\x00ices", "known are"),
    ],
)
def test_what_is_not_understood_is_refused_with_what_to_write(text, advice):
    with pytest.raises(VoiceNotAvailableError, match="is not understood; ") as caught:
        parse_source(text)
    assert advice in str(caught.value)


def test_no_two_sources_share_a_place_in_the_cache(monkeypatch):
    monkeypatch.delenv("AWS_ENDPOINT_URL_S3", raising=False)
    texts = [
        "hf://a/b",
        "hf://a/b@v1",
        "hf://a/b@v/1",
        "hf://b/a",
        "s3://aaa",
        "s3://aaa/b",
        "s3://aaa/b/c",
        "s3://bbb",
    ]
    slugs = {parse_source(text).remote.slug for text in texts}
    assert len(slugs) == len(texts)
    monkeypatch.setenv("AWS_ENDPOINT_URL_S3", "http://127.0.0.1:9000")
    assert parse_source("s3://aaa").remote.slug not in slugs
    assert not any(".." in slug or slug.startswith("/") for slug in slugs)
