import logging

import boto3
import pytest
from conftest import FILES, VOICE, big
from moto.server import ThreadedMotoServer

from engine import SourceUnreachableError, VoiceNotAvailableError
from engine.sources.s3 import S3Remote, _client_of
from engine.voices.style_bert_vits2.layout import needed

# boto3 and moto call what Python 3.12 deprecates
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


@pytest.fixture(scope="module")
def moto():
    logging.getLogger("werkzeug").setLevel(logging.CRITICAL)
    server = ThreadedMotoServer("127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


@pytest.fixture
def bucket(moto, monkeypatch):
    import urllib.request

    urllib.request.urlopen(urllib.request.Request(f"{moto}/moto-api/reset", method="POST")).close()
    monkeypatch.setenv("AWS_ENDPOINT_URL_S3", moto)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "id")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    for name in ("AWS_PROFILE", "AWS_DEFAULT_REGION", "AWS_REGION"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    client = boto3.client("s3", endpoint_url=moto, region_name="us-east-1")
    client.create_bucket(Bucket="tts-prod")
    for path, data in FILES.items():
        client.put_object(Bucket="tts-prod", Key=f"voices/{path}", Body=data)
    yield client
    client.close()
    _client_of.cache_clear()


REMOTE = S3Remote("tts-prod", "voices")


def content(folder):
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def expected(prefix=VOICE):
    return {path.removeprefix(f"{prefix}/"): data for path, data in FILES.items() if path.startswith(f"{prefix}/")}


def test_a_folder_comes_whole_and_then_without_the_network(bucket, make, no_network):
    folder = make(REMOTE).fetch(VOICE)
    assert content(folder) == expected()
    no_network()
    assert make(REMOTE).fetch(VOICE) == folder


def test_the_whole_bucket_may_be_the_tree(bucket, make):
    bucket.put_object(Bucket="tts-prod", Key="bert/tokenizer/vocab.txt", Body=b"[CLS]")
    bucket.put_object(Bucket="tts-prod", Key="bert/tokenizer/", Body=b"")  # a folder, as consoles make them
    assert content(make(S3Remote("tts-prod")).fetch("bert/tokenizer")) == {"vocab.txt": b"[CLS]"}


def test_an_empty_listing_is_an_error_and_leaves_nothing_that_hides_a_later_one(bucket, make, tmp_path):
    with pytest.raises(VoiceNotAvailableError, match=r"onnx/speakers/new of s3://tts-prod/voices is empty"):
        make(REMOTE).fetch("onnx/speakers/new")
    bucket.put_object(Bucket="tts-prod", Key="voices/onnx/speakers/new/config.json", Body=b"{}")
    assert content(make(REMOTE).fetch("onnx/speakers/new")) == {"config.json": b"{}"}


def test_published_voices_carry_their_sha256_and_are_compared_with_it(bucket, make, tmp_path):
    voice = tmp_path / "voice"
    voice.mkdir()
    for name, data in expected().items():
        (voice / name).write_bytes(data)
    make(REMOTE).upload("onnx/speakers/mine", voice)
    listing = REMOTE.listing("onnx/speakers/mine")
    assert all(file.digest.startswith("sha256:") for file in listing.files)
    assert content(make(REMOTE).fetch("onnx/speakers/mine")) == expected()

    key = "voices/onnx/speakers/mine/synthesizer.onnx"
    metadata = bucket.head_object(Bucket="tts-prod", Key=key)["Metadata"]
    bucket.put_object(Bucket="tts-prod", Key=key, Body=big(50), Metadata=metadata)  # another content, the same claim
    tree = make(REMOTE, cache=tmp_path / "other", select=needed)
    with pytest.raises(VoiceNotAvailableError, match="its SHA-256 is another"):
        tree.fetch("onnx/speakers/mine")


def test_an_update_sees_a_changed_object(bucket, make):
    make(REMOTE).fetch(VOICE)
    assert not make(REMOTE).changes(VOICE).any
    bucket.put_object(Bucket="tts-prod", Key=f"voices/{VOICE}/config.json", Body=b"other")
    assert make(REMOTE).update(VOICE).changed == ("config.json",)
    assert (make(REMOTE).fetch(VOICE) / "config.json").read_bytes() == b"other"


def test_a_download_that_was_stopped_goes_on_by_range(bucket, make):
    class Stop(Exception):
        pass

    def stop(step):
        if step.done > 200_000:
            raise Stop

    with pytest.raises(Stop):
        make(REMOTE, progress=stop).fetch(VOICE)
    first = []
    assert content(make(REMOTE, progress=first.append).fetch(VOICE)) == expected()
    assert first[0].done > 100_000


def test_an_object_that_changes_while_it_is_fetched_is_never_mixed(bucket, make):
    class Stop(Exception):
        pass

    def stop(step):
        if step.done > 200_000:
            raise Stop

    with pytest.raises(Stop):
        make(REMOTE, progress=stop).fetch(VOICE)
    new = {name: big(at, len(data)) for at, (name, data) in enumerate(expected().items(), 20)}
    for name, data in new.items():
        bucket.put_object(Bucket="tts-prod", Key=f"voices/{VOICE}/{name}", Body=data)
    assert content(make(REMOTE).fetch(VOICE)) == new


def test_what_is_wrong_is_one_sentence(bucket, make, monkeypatch):
    with pytest.raises(VoiceNotAvailableError, match="there is no bucket 'not-here' at http"):
        make(S3Remote("not-here")).fetch(VOICE)
    monkeypatch.setenv("AWS_ENDPOINT_URL_S3", "http://127.0.0.1:9")
    with pytest.raises(SourceUnreachableError, match="s3://tts-prod/voices cannot be reached"):
        make(REMOTE).fetch(VOICE)
    monkeypatch.setenv("AWS_ENDPOINT_URL_S3", "nonsense")
    with pytest.raises(VoiceNotAvailableError, match="AWS_ENDPOINT_URL_S3 is 'nonsense', which is no address"):
        make(REMOTE).fetch(VOICE)


def test_without_credentials(bucket, make, monkeypatch, tmp_path):
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    _client_of.cache_clear()
    with pytest.raises(VoiceNotAvailableError, match=r"needs credentials .*set AWS_ACCESS_KEY_ID"):
        make(REMOTE).fetch(VOICE)


@pytest.mark.parametrize(
    ("code", "status", "error"),
    [
        ("SlowDown", 503, SourceUnreachableError),
        ("InternalError", 500, SourceUnreachableError),
        ("RequestTimeout", 400, SourceUnreachableError),
        ("AccessDenied", 403, VoiceNotAvailableError),
        ("InvalidAccessKeyId", 403, VoiceNotAvailableError),
        ("ExpiredToken", 400, VoiceNotAvailableError),
        ("NoSuchKey", 404, VoiceNotAvailableError),
    ],
)
def test_answers_are_told_apart_by_what_helps(code, status, error):
    from botocore.exceptions import ClientError

    answer = {
        "Error": {"Code": code, "Message": "m"},
        "ResponseMetadata": {"HTTPStatusCode": status, "HTTPHeaders": {}},
    }
    with pytest.raises(error):
        REMOTE._explain(ClientError(answer, "GetObject"))


def test_without_boto3_the_extra_is_named(monkeypatch, make):
    import sys

    monkeypatch.setitem(sys.modules, "boto3", None)
    with pytest.raises(VoiceNotAvailableError, match=r"pip install 'asagoe\[s3\]'"):
        make(REMOTE).fetch(VOICE)
