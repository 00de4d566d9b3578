"""The service's image, run without a container engine, but with an engine's strict settings.

Its processes have their own mount and process namespaces, a read-only root, the user of the
image, and no capabilities or way to gain any. They share the network of this machine.
"""

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2
from tests.processes import PLAIN, POLL_SECONDS, free_port

ROOT = Path(__file__).parents[2]
TAG = "localhost/imprint:test"

_MOUNTS = """
mount --bind "$1" "$1"
mount -o remount,bind,ro,nosuid "$1"
mount -t proc proc "$1/proc"
mount --bind /dev "$1/dev"
mount -t tmpfs -o size=64m,noexec,nosuid,nodev tmpfs "$1/tmp"
mount --bind "$2" "$1/data"
shift 2
exec "$@"
"""

_LAUNCH = """
import ctypes, json, os, sys
root, user, group, folder, environ, command = json.loads(sys.argv[1])
libc = ctypes.CDLL(None)
os.chroot(root)
os.chdir(folder)
last = int(open("/proc/sys/kernel/cap_last_cap").read())
for capability in range(last + 1):
    assert libc.prctl(24, capability, 0, 0, 0) == 0  # PR_CAPBSET_DROP
assert libc.prctl(38, 1, 0, 0, 0) == 0  # PR_SET_NO_NEW_PRIVS
os.setgroups([])
os.setgid(group)
os.setuid(user)
for folder in environ["PATH"].split(":"):
    if os.access(f"{folder}/{command[0]}", os.X_OK):
        os.execve(f"{folder}/{command[0]}", command, environ)
"""


def capture(*command: object, **options: Any) -> "subprocess.CompletedProcess[str]":
    """Run a command, regardless of its status, and capture its output."""
    words = [str(each) for each in command]
    return subprocess.run(words, capture_output=True, text=True, check=False, **options)


def buildah(*arguments: str) -> str:
    """Run buildah with the storage of tools/build-image and return the output."""
    storage = ROOT / ".tools" / "containers"
    places = ["--root", str(storage / "root"), "--runroot", str(storage / "run")]
    command = ["buildah", "--storage-driver", "vfs", *places, *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


@dataclass(frozen=True, slots=True)
class Image:
    """The image, with its files and its configuration."""

    root: Path
    config: Mapping[str, Any]

    @property
    def user(self) -> tuple[int, int]:
        user, group = self.config["User"].split(":")
        return int(user), int(group)

    @property
    def environ(self) -> dict[str, str]:
        return dict(line.split("=", 1) for line in self.config["Env"])


@contextmanager
def built_image() -> Iterator[Image]:
    """Build the image from this checkout and mount its files."""
    subprocess.run([ROOT / "tools" / "build-image", "--tag", TAG], check=True, cwd=ROOT)
    working = buildah("from", "--pull-never", TAG)
    try:
        config = json.loads(buildah("inspect", "--type", "image", TAG))["Docker"]["config"]
        yield Image(Path(buildah("mount", working)), config)
    finally:
        buildah("rm", working)


@dataclass(slots=True)
class Container:
    """A process run in the image. `given` is added to the environment of the image."""

    image: Image
    folder: Path
    given: Mapping[str, str] = field(default_factory=dict)
    port: int = field(default_factory=free_port)
    _running: "subprocess.Popen[bytes] | None" = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def data(self) -> Path:
        return self.folder / "data"

    @property
    def log(self) -> Path:
        return self.folder / f"container-{self.port}.log"

    @property
    def environ(self) -> dict[str, str]:
        """The environment of the container's processes."""
        address = {"IMPRINT_HOST": "127.0.0.1", "IMPRINT_PORT": str(self.port)}
        return {**self.image.environ, **self.given, **address}

    def spawn(self, *arguments: str) -> None:
        """Run the entry point with these arguments, or with those of the image."""
        self.data.mkdir(exist_ok=True)
        user, group = self.image.user
        subprocess.run(["chown", f"{user}:{group}", self.data], check=True)
        command = [*self.image.config["Entrypoint"], *(arguments or self.image.config["Cmd"])]
        folder = self.image.config["WorkingDir"]
        launch = json.dumps([str(self.image.root), user, group, folder, self.environ, command])
        namespaces = ["--mount", "--pid", "--fork", "--kill-child=SIGKILL", "--propagation=private"]
        mounts = ["sh", "-ec", _MOUNTS, "sh", str(self.image.root), str(self.data)]
        with self.log.open("ab") as sink:
            self._running = subprocess.Popen(
                ["unshare", *namespaces, *mounts, sys.executable, "-I", "-c", _LAUNCH, launch],
                stdout=sink,
                stderr=sink,
            )

    @property
    def pid(self) -> int:
        """The pid of the container's first process, as seen by the host."""
        assert self._running is not None
        outer = self._running.pid
        return int(Path(f"/proc/{outer}/task/{outer}/children").read_text().split()[0])

    @property
    def status(self) -> dict[str, str]:
        """The kernel's status fields for the container's first process."""
        text = Path(f"/proc/{self.pid}/status").read_text()
        return dict(re.findall(r"^(\w+):\s+(.*)$", text, re.MULTILINE))

    def wait_for(self, path: str, status: int = 200, seconds: float = 60) -> None:
        """Wait until the container responds with this status."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            assert self._running is not None
            assert self._running.poll() is None, self.log.read_text()
            try:
                response = httpx2.get(f"{self.url}{path}", timeout=5, verify=PLAIN)
                if response.status_code == status:
                    return
            except httpx2.TransportError:
                pass
            time.sleep(POLL_SECONDS)
        raise TimeoutError(self.log.read_text())

    def run(self, command: Sequence[str], **given: str) -> "subprocess.CompletedProcess[str]":
        """Run another command in the container, like `docker exec`, with `given` as settings."""
        user, group = map(str, self.image.user)
        enter = ["nsenter", "--target", str(self.pid), "--mount", "--pid", "--root", "--wd"]
        words = [f"{name}={text}" for name, text in {**self.environ, **given}.items()]
        return capture(*enter, "--setuid", user, "--setgid", group, "env", "-i", *words, *command)

    def run_shell(self, text: str) -> "subprocess.CompletedProcess[str]":
        """Run a shell command in the container."""
        return self.run(["sh", "-c", text])

    def stop(self) -> int:
        """Send the stop signal defined by the image and wait for the exit status."""
        os.kill(self.pid, signal.Signals[self.image.config["StopSignal"]])
        return self.wait()

    def wait(self, seconds: float = 60) -> int:
        """Wait until the container ends on its own and return the exit status."""
        assert self._running is not None
        return self._running.wait(seconds)

    def kill(self) -> None:
        """Kill the container if it is still running."""
        if self._running is not None and self._running.poll() is None:
            # All processes of the namespace end with the first one. `--kill-child` is not enough:
            # its effect is undone when that process changes its user.
            with suppress(IndexError, ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)
            self._running.wait()
