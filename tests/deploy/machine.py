"""A Debian system that runs systemd as its first process, in namespaces of this machine.

Units are started by the real systemd, with all their sandboxing. The network is shared with
this machine.
"""

import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from tests.deploy.container import ROOT
from tests.processes import POLL_SECONDS

_BOOT = """
cd "$1"
mount --bind . .
cd "$1"
mount -t proc proc proc
mount -t sysfs sysfs sys
mount -t cgroup2 cgroup2 sys/fs/cgroup
mount -t tmpfs -o mode=755 tmpfs dev
for device in full null random tty urandom zero; do
  touch dev/$device
  mount --bind /dev/$device dev/$device
done
ln -s /proc/self/fd dev/fd
ln -s pts/ptmx dev/ptmx
mkdir dev/pts dev/shm
mount -t devpts devpts dev/pts
mount -t tmpfs tmpfs dev/shm
mount -t tmpfs -o mode=755 tmpfs run
mount -t tmpfs tmpfs tmp
pivot_root . mnt
exec chroot . /bin/sh -ec 'umount -l /mnt; exec /lib/systemd/systemd --show-status=false' </dev/null
"""

_ENVIRON = {
    "PATH": "/usr/sbin:/usr/bin:/sbin:/bin",
    "HOME": "/root",
    "LC_ALL": "C.UTF-8",
    "DEBIAN_FRONTEND": "noninteractive",
    "container": "test",
}


@dataclass(frozen=True, slots=True)
class Machine:
    """A running machine: its root folder, and the pid of its first process on the host."""

    root: Path
    pid: int

    def run(self, text: str, seconds: float = 300) -> "subprocess.CompletedProcess[str]":
        """Run a shell script in the machine as root, stopping at the first failing command."""
        enter = ["nsenter", "--target", str(self.pid), "--mount", "--pid", "--cgroup"]
        enter += ["--uts", "--ipc", "--root", "--wd"]
        return subprocess.run(
            [*enter, "bash", "-e", "-o", "pipefail", "-c", text],
            env=_ENVIRON,
            capture_output=True,
            text=True,
            check=False,
            timeout=seconds,
        )

    def succeed(self, text: str, seconds: float = 300) -> str:
        """Run a shell script that must succeed and return its output."""
        ran = self.run(text, seconds)
        assert ran.returncode == 0, f"{text}\n{ran.stdout}\n{ran.stderr}"
        return ran.stdout


def make_root(folder: Path, suite: str, packages: str) -> Path:
    """Create a minimal Debian with these packages in a folder, cached in .tools/."""
    stamp = sha256(f"{suite} {packages}".encode()).hexdigest()[:16]
    archive = ROOT / ".tools" / f"machine-{stamp}.tar"
    if not archive.exists():
        archive.parent.mkdir(exist_ok=True)
        partial = archive.with_suffix(".partial.tar")
        make = ["mmdebstrap", "--quiet", "--variant=minbase", f"--include={packages}"]
        subprocess.run([*make, suite, partial], check=True)
        partial.rename(archive)
    root = folder / "machine"
    root.mkdir()
    subprocess.run(["tar", "--extract", "--file", archive, "--directory", root], check=True)
    return root


@contextmanager
def booted(root: Path, log: Path) -> Iterator[Machine]:
    """Boot the machine with this root and run it until the context exits."""
    group = _unified_hierarchy() / f"imprint-test-{os.getpid()}"
    group.mkdir()
    namespaces = ["--cgroup", "--mount", "--pid", "--uts", "--ipc", "--propagation=private"]
    command = ["unshare", *namespaces, "--fork", "--kill-child=SIGKILL", "sh", "-ec", _BOOT, "sh"]
    # Start the machine in a control group of its own, which is the root of all groups that it sees.
    join = ["sh", "-ec", 'echo $$ > "$1/cgroup.procs"; shift; exec "$@"', "sh", str(group)]
    with log.open("ab") as sink:
        running = subprocess.Popen(
            [*join, *command, str(root)], env=_ENVIRON, stdout=sink, stderr=sink
        )
    try:
        yield _wait_for_boot(running, root, log)
    finally:
        running.kill()
        running.wait()
        _remove(group)


def _unified_hierarchy() -> Path:
    for line in Path("/proc/mounts").read_text().splitlines():
        _, place, kind, *_ = line.split()
        if kind == "cgroup2":
            return Path(place)
    raise AssertionError("needs a mounted cgroup2")


def _wait_for_boot(running: "subprocess.Popen[bytes]", root: Path, log: Path) -> Machine:
    children = Path(f"/proc/{running.pid}/task/{running.pid}/children")
    deadline = time.monotonic() + 180
    while time.monotonic() < deadline:
        assert running.poll() is None, log.read_text()
        with suppress(OSError, IndexError):
            machine = Machine(root, int(children.read_text().split()[0]))
            state = machine.run("systemctl is-system-running || true").stdout.strip()
            # Some units of Debian do not work in a namespace, such as the one for kernel modules.
            if state in ("running", "degraded"):
                return machine
        time.sleep(POLL_SECONDS)
    raise TimeoutError(log.read_text())


def _remove(group: Path) -> None:
    deadline = time.monotonic() + 10
    while group.exists() and time.monotonic() < deadline:
        for folder, _, _ in os.walk(group, topdown=False):
            with suppress(OSError):
                Path(folder).rmdir()
        time.sleep(POLL_SECONDS)


def copy_tree(source: Path, target: Path) -> None:
    """Copy a folder, preserving links and owners."""
    shutil.rmtree(target, ignore_errors=True)
    target.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run(["cp", "--archive", source, target], check=True)
