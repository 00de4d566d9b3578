"""A real MinIO server on loopback, with a temporary folder."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from uuid import uuid4

import httpx2
from tests.processes import PLAIN, free_port

BINARY = Path(__file__).parents[2] / ".tools" / "minio"
START_TIMEOUT = 60.0
KEY_ID, SECRET = "imprint-tests", "imprint-tests-secret-5e1f"


@dataclass(slots=True)
class MinioServer:
    """A MinIO server that can be killed, frozen and started again with the same objects."""

    folder: Path
    region: str = ""
    port: int = field(default_factory=free_port)
    _process: subprocess.Popen[bytes] | None = None

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        """Start the server and wait until it responds."""
        (self.folder / "objects").mkdir(parents=True, exist_ok=True)
        environ = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.folder),
            "MINIO_ROOT_USER": KEY_ID,
            "MINIO_ROOT_PASSWORD": SECRET,
            "MINIO_BROWSER": "off",
            "MINIO_UPDATE": "off",
            "MINIO_SITE_REGION": self.region,
        }
        address = f"127.0.0.1:{self.port}"
        with (self.folder / "minio.log").open("ab") as log:
            self._process = subprocess.Popen(
                [BINARY, "server", "--quiet", "--address", address, self.folder / "objects"],
                env=environ,
                stdout=log,
                stderr=subprocess.STDOUT,
            )
        self._wait_until_ready()

    def _wait_until_ready(self) -> None:
        deadline = time.monotonic() + START_TIMEOUT
        while time.monotonic() < deadline:
            assert self._process is not None
            assert self._process.poll() is None, (self.folder / "minio.log").read_text()
            try:
                path = f"{self.endpoint}/minio/health/ready"
                if httpx2.get(path, verify=PLAIN, timeout=10).status_code == 200:
                    return
            except httpx2.TransportError:
                pass
            time.sleep(0.05)
        raise TimeoutError("MinIO did not start.")

    def kill(self) -> None:
        """Kill the server, as in a power cut."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def freeze(self) -> None:
        """Make the server accept connections but not respond."""
        assert self._process is not None
        self._process.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, self._process.pid, os.WSTOPPED | os.WNOWAIT)  # until it has stopped

    def thaw(self) -> None:
        assert self._process is not None
        self._process.send_signal(signal.SIGCONT)

    def make_bucket(self) -> str:
        """Create a bucket, which is a folder on a single-disk server."""
        name = f"imprint-{uuid4().hex[:12]}"
        (self.folder / "objects" / name).mkdir()
        return name

    def settings(self, bucket: str, endpoint: str | None = None) -> Mapping[str, str]:
        """The settings of a service whose documents are in this bucket, named without their
        prefix."""
        return {
            "CONTENT_STORE": f"s3://{bucket}/imprint",
            "S3_ENDPOINT": endpoint or self.endpoint,
            "S3_ACCESS_KEY_ID": KEY_ID,
            "S3_SECRET_ACCESS_KEY": SECRET,
        }


def run_command(given: Mapping[str, str], *words: str) -> "subprocess.CompletedProcess[str]":
    """Run a command with these settings, named without their prefix."""
    environ = {f"IMPRINT_{name}": text for name, text in given.items()}
    return subprocess.run(
        [sys.executable, "-m", "imprint", *words],
        env={"PATH": "/usr/bin:/bin", **environ},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
