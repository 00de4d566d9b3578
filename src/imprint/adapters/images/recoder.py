"""One process that decodes images, and the conversation with it."""

import asyncio
import logging
import os
import socket
import subprocess
import sys
import time
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Lock

from imprint.domain.documents import MAX_IMAGE_BYTES
from imprint.domain.errors import Code, Refusal, Unavailable

MAX_ANSWER = 16_000_000
"""How many bytes a process may answer with; it knows this limit too."""

TAKEN, RECODED = b"t", b"r"
"""What the process says when an image has arrived, and when it has been recoded."""


class NotTaken(Exception):
    """The worker was gone before it had the image."""


class ProcessDied(Exception):
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
        except (OSError, ProcessDied) as error:
            raise NotTaken from error
        head = self._receive(5, deadline)
        length = int.from_bytes(head[1:])
        if taken != TAKEN or length > MAX_ANSWER:
            raise ProcessDied
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
                raise ProcessDied from error
            if count == 0:
                raise ProcessDied
            rest = rest[count:]
        return bytes(data)


MAX_WAITING = 16
"""How many images are held in memory at once before more are turned away."""

WALL_LIMIT = 20.0
"""Seconds that one image may take, on a machine that is busy with other things as well."""

_SIGNATURES = (b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff")
"""How a PNG and a JPEG file begin."""

_SCRIPT = Path(__file__).with_name("worker.py")
_log = logging.getLogger(__name__)


class _Job:
    """One image on its way, which may be abandoned at any moment."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._process: ImageProcess | None = None
        self.abandoned = False

    def hold(self, process: ImageProcess | None) -> bool:
        """Note which process has the image; False if nobody waits for it any more."""
        with self._lock:
            self._process = process
            return not self.abandoned

    def abandon(self) -> None:
        """Stop the work, with the process that does it."""
        with self._lock:
            self.abandoned = True
            if self._process is not None:
                self._process.kill()


class SandboxedRecoder:
    """Images recoded by a few processes with bounds on their memory and time."""

    def __init__(
        self, processes: int = 1, script: Path = _SCRIPT, wall_limit: float = WALL_LIMIT
    ) -> None:
        self._script = script
        self._wall_limit = wall_limit
        self._idle: deque[ImageProcess] = deque()
        self._jobs: set[_Job] = set()
        self._pool = ThreadPoolExecutor(processes, thread_name_prefix="images")
        self._closed = False

    async def recode(self, image: bytes) -> bytes:
        """The picture encoded anew, without metadata, in its own format.

        Refuses `too_large`, `unsupported_media_type`, `invalid_image`.
        """
        if len(image) > MAX_IMAGE_BYTES:
            raise Refusal(Code.TOO_LARGE, f"An image has at most {MAX_IMAGE_BYTES} bytes.")
        if not image.startswith(_SIGNATURES):
            raise Refusal(Code.UNSUPPORTED_MEDIA_TYPE, "An image is a PNG or a JPEG file.")
        if self._closed or len(self._jobs) >= MAX_WAITING:
            raise _overloaded()
        job = _Job()
        self._jobs.add(job)
        try:
            loop = asyncio.get_running_loop()
            return await loop.run_in_executor(self._pool, self._work, image, job)
        except asyncio.CancelledError:
            job.abandon()
            raise
        finally:
            self._jobs.discard(job)

    async def close(self) -> None:
        """End all work and every process."""
        self._closed = True
        for job in self._jobs:
            job.abandon()
        await asyncio.to_thread(self._pool.shutdown)
        while self._idle:
            self._idle.pop().bury()

    def _work(self, image: bytes, job: _Job) -> bytes:
        """Have the image recoded, by a new process if the one at hand turns out to be gone."""
        while not job.abandoned:
            process = self._take()
            try:
                outcome, answer = self._exchange(process, image, job)
            except NotTaken as error:
                if process.used:
                    continue
                _log.error("The process that decodes images does not take any.")
                raise _overloaded() from error
            except ProcessDied as error:
                if job.abandoned:
                    break
                _log.warning("An image ended the process that decoded it.")
                raise Refusal(Code.INVALID_IMAGE, "The image cannot be decoded.") from error
            if outcome == RECODED and answer.startswith(_SIGNATURES):
                return answer
            raise Refusal(Code.INVALID_IMAGE, answer.decode(errors="replace"))
        raise _overloaded()

    def _exchange(self, process: ImageProcess, image: bytes, job: _Job) -> tuple[bytes, bytes]:
        healthy = False
        try:
            if not job.hold(process):
                raise ProcessDied
            answer = process.exchange(image, self._wall_limit)
            healthy = True
        finally:
            # No longer held, the process cannot be killed for a job that is done.
            if job.hold(None) and healthy:
                self._idle.append(process)
            else:
                process.bury()
        return answer

    def _take(self) -> ImageProcess:
        try:
            return self._idle.pop()
        except IndexError:
            pass
        try:
            return ImageProcess(self._script)
        except OSError as error:
            _log.error("The process that decodes images cannot be started: %s", error.strerror)
            raise _overloaded() from error


def _overloaded() -> Unavailable:
    return Unavailable(Code.OVERLOADED, "Images cannot be checked right now.")
