"""Images, built of the Dockerfile by buildah where no engine runs, and containers of them."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import yaml

from tests.fakes.published import VOICE
from tests.machines.nspawn import machines_folder

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/engine/sources"))

from hub_server import HubServer, Repository

TOKEN = "hf_aSecretThatMustNotBeInAnyLayer"
SPEAKERS = {
    "mei": {"source": "openjtalk:mei"},
    "private": {"source": "hf://me/private", "name": VOICE},
}


def _command(*arguments: object) -> list[str]:
    store = machines_folder() / "containers"
    start = ["buildah", "--root", f"{store}/root", "--runroot", f"{store}/run", "--storage-driver", "vfs"]
    return [*start, *map(str, arguments)]


def buildah(*arguments: object, check: bool = True, timeout: float = 1500) -> str:
    """Run it; returns what it says."""
    done = subprocess.run(_command(*arguments), capture_output=True, text=True, check=False, timeout=timeout)
    if check and done.returncode:
        raise AssertionError(f"{' '.join(map(str, arguments))}\n{done.stdout[-3000:]}{done.stderr[-3000:]}")
    return done.stdout.strip()


def make_base(debian: str, folder: str, arch: str | None = None) -> None:
    """Make ``debian:<debian>-slim``, the image that the Dockerfile begins with, from a Debian folder."""
    name = f"debian:{debian}-slim"
    if buildah("images", "--quiet", name, check=False) == "":
        container = buildah("from", "scratch")
        buildah("add", container, folder, "/")
        if arch is not None:
            buildah("config", "--arch", arch, container)
        buildah("commit", "--rm", container, name)


@contextlib.contextmanager
def private_hub(tree: Path) -> Iterator[HubServer]:
    """A hub that gives a tree of voices to who has the token."""
    server = HubServer()
    server.repositories["me/private"] = Repository(tokens={TOKEN})
    server.repositories["me/private"].commit(
        {str(path.relative_to(tree)): path.read_bytes() for path in tree.rglob("*") if path.is_file()}
    )
    try:
        yield server
    finally:
        server.stop()


def with_voices(hub: HubServer, secret: Path) -> list[str]:
    """The arguments of a build that fetches the speakers of the context from a hub."""
    secret.write_text(TOKEN)
    arguments = [f"--secret=id=hf-token,src={secret}", "--build-arg=VOICES=my-voices.yaml"]
    return [*arguments, f"--build-arg=HF_ENDPOINT={hub.url}"]


def has_token(image: str, root: Path) -> bool:
    """Whether the token is anywhere in an image."""
    found = subprocess.run(["grep", "-rlF", TOKEN, str(root)], capture_output=True, text=True, check=False)
    return bool(found.stdout) or TOKEN in buildah("inspect", "--type", "image", image)


def make_context(folder: Path) -> Path:
    """What git would hand out, with a configuration of our own beside it."""
    files = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    ).stdout.split("\0")  # fmt: skip
    names = "\n".join(name for name in files if name and (ROOT / name).is_file())
    tar = subprocess.run(["tar", "-C", str(ROOT), "-cT", "-"], input=names.encode(), capture_output=True, check=True)
    subprocess.run(["tar", "-C", str(folder), "-x"], input=tar.stdout, check=True)
    (folder / "my-voices.yaml").write_text(yaml.safe_dump({"speakers": SPEAKERS}))
    return folder


def _clear() -> None:
    """Delete what builds have left that failed or were killed."""
    buildah("rm", "--all", check=False)
    buildah("rmi", "--prune", "--force", check=False)


@contextlib.contextmanager
def built(tag: str, context: Path, *arguments: object, wheels: Sequence[str]) -> Iterator[str]:
    """An image of the Dockerfile, from folders of wheels instead of an index; it is gone afterwards."""
    mounts = [f"--volume={folder}:/wheels{number}:ro" for number, folder in enumerate(wheels)]
    began = time.monotonic()
    _clear()
    buildah(
        "build", "--isolation", "chroot", "--format", "docker", "--pull=never", "--layers=false",
        "--build-arg", "PIP_FIND_LINKS=" + " ".join(f"/wheels{number}" for number in range(len(wheels))),
        "--build-arg", "PIP_NO_INDEX=1", *mounts, *arguments, "--tag", tag, context,
    )  # fmt: skip
    print(f"\nbuilt in {time.monotonic() - began:.0f} s")
    try:
        yield tag
    finally:
        buildah("rmi", "--force", tag, check=False)
        _clear()


class Container:
    """A container of an image, and its files."""

    def __init__(self, image: str) -> None:
        self.name = buildah("from", "--pull=never", image)
        self.root = Path(buildah("mount", self.name))

    def command(self, *command: object, options: Sequence[str] = ()) -> list[str]:
        """What runs a command in it."""
        return _command("run", "--isolation", "chroot", *options, self.name, "--", *command)

    def run(
        self, *command: object, options: Sequence[str] = (), before: Sequence[str] = ("unshare", "--net"),
        timeout: float = 300,
    ):  # fmt: skip
        """Run a command in it; ``before`` starts it, unless told otherwise in a network that holds nothing."""
        return subprocess.run(
            [*before, *self.command(*command, options=options)],
            capture_output=True, text=True, check=False, timeout=timeout, stdin=subprocess.DEVNULL,
        )  # fmt: skip

    def end(self) -> None:
        buildah("umount", self.name, check=False)
        buildah("rm", self.name, check=False)


def megabytes(folder: Path) -> float:
    """What a file or folder takes."""
    done = subprocess.run(["du", "-sb", folder], capture_output=True, text=True, check=True)
    return int(done.stdout.split()[0]) / 1e6


def show_sizes(root: Path) -> None:
    """Print how large an image is, and what of it."""
    packages = next(root.glob("opt/asagoe/lib/python3*/site-packages"))
    parts = {name: megabytes(root / name) for name in ("opt/asagoe", "voices", "usr")}
    print(f"\nimage {megabytes(root):.0f} MB: " + ", ".join(f"{name} {mb:.0f}" for name, mb in parts.items()))
    largest = sorted(packages.iterdir(), key=megabytes, reverse=True)[:8]
    print("largest: " + ", ".join(f"{path.name} {megabytes(path):.0f}" for path in largest))


def wheels_folders() -> list[str]:
    """The folders of wheels that ``script/test-system`` has fetched."""
    return os.environ["ASAGOE_WHEELS"].split(":")
