"""One process that decodes images, and the conversation with it."""

import os
import socket
import subprocess
import sys
import time
from pathlib import Path

MAX_ANSWER = 16_000_000
"""How many bytes a process may answer with; it knows this limit too."""

TAKEN, RECODED = b"t", b"r"
"""What the process says when an image has arrived, and when it has been recoded."""


class NotTaken(Exception):
    """The worker was gone before it had the image."""


class Died(Exception):
    """The worker ended, or got stuck, over the image."""


class ImageProcess:
    """One process, and the socket to it; all calls block."""

    def __init__(self, script: Path) -> None:
        self.used = False
        paths = os.pathsep.join(str(Path(path).absolute()) for path in sys.path if path)
        self._wire, theirs = socket.socketpair()
        try:
            with theirs:
                self._process = subprocess.Popen(  # noqa: S603 (our own interpreter and script)
                    [sys.executable, "-s", "-S", "-P", str(script)],
                    stdin=theirs.fileno(),
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    cwd="/",
                    env={"PYTHONPATH": paths},
                    # so that Ctrl-C in a terminal lets the service finish first
                    start_new_session=True,
                )
        except OSError:
            self._wire.close()
            raise

    def exchange(self, image: bytes, seconds: float) -> tuple[bytes, bytes]:
        """The outcome for an image, and the answer."""
        deadline = time.monotonic() + seconds
        try:
            self._wire.settimeout(seconds)
            self._wire.sendall(len(image).to_bytes(4))
            self._wire.sendall(image)
            taken = self._receive(1, deadline)
        except (OSError, Died) as error:
            raise NotTaken from error
        head = self._receive(5, deadline)
        length = int.from_bytes(head[1:])
        if taken != TAKEN or length > MAX_ANSWER:
            raise Died
        self.used = True
        return head[:1], self._receive(length, deadline)

    def kill(self) -> None:
        """End the process, from any thread; whoever waits for it notices."""
        self._process.kill()

    def bury(self) -> None:
        """End the process, if it has not ended, and leave nothing of it."""
        self._process.kill()
        self._process.wait()
        self._wire.close()

    def _receive(self, length: int, deadline: float) -> bytes:
        data = bytearray(length)
        rest = memoryview(data)
        while rest:
            try:
                self._wire.settimeout(max(deadline - time.monotonic(), 0.001))
                count = self._wire.recv_into(rest)
            except OSError as error:
                raise Died from error
            if count == 0:
                raise Died
            rest = rest[count:]
        return bytes(data)
