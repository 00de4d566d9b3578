"""Recodes images in sandboxed processes, because image decoders have exploitable bugs.

A few processes run recoder.py, which decodes an image and encodes it again without metadata. The
processes are started on demand, reused, and killed when an image takes too long
(docs/decisions/image-sandbox.md).
"""

import asyncio
import logging
import os
import re
import socket
import struct
import subprocess
import sys
import time
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from threading import Lock

from imprint.domain.drafts.documents import MAX_IMAGE_BYTES
from imprint.domain.errors import Code, RateLimited, Refusal, Unavailable
from imprint.domain.formats.addresses import Address

MAX_WAITING = 32
"""Maximum number of images held in memory at once. Excess images are refused as overload."""

MAX_OF_SIGNER = 4
"""Maximum number of images per signer held in memory at once, including the one being recoded."""

RETRY_AFTER = 2
"""Seconds after which a signer with too many images should retry."""

WALL_LIMIT = 20.0
"""Seconds allowed for one image, even on a busy machine."""

MAX_RESPONSE = 16_000_000
"""Size limit of a recoded image in bytes, repeated in recoder.py."""

ACCEPTED, RECODED = b"a", b"r"
"""Bytes that the process sends when it has received an image, and before a recoded image."""

_SIGNATURES = (b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff")
"""The first bytes of PNG and JPEG files."""

_WEBP = re.compile(rb"RIFF....WEBP", re.DOTALL)
"""The first bytes of WebP files."""

_REQUEST = struct.Struct(">IHH?")
"""Header of an image in a request: its length, the box to fit into, and whether it is cropped."""

Box = tuple[int, int]
NO_BOX = (0, 0)

_SCRIPT = Path(__file__).with_name("recoder.py")
_log = logging.getLogger(__name__)


class SandboxedRecoder:
    """`ImageRecoder` with a few sandboxed processes."""

    def __init__(
        self, processes: int = 1, script: Path = _SCRIPT, wall_limit: float = WALL_LIMIT
    ) -> None:
        self._script = script
        self._wall_limit = wall_limit
        self._idle: deque[ImageProcess] = deque()
        self._jobs: set[_Job] = set()
        self._turns: dict[str, _Turns] = {}
        self._pool = ThreadPoolExecutor(processes, thread_name_prefix="images")
        self._closed = False

    async def recode(self, image: bytes, signer: Address) -> bytes:
        """Recode an image without metadata. Only WebP changes its format, to PNG or JPEG.

        Each signer's images are recoded one at a time, so that they do not delay the images of
        other signers. Refuses with `too_large`, `unsupported_media_type`, `invalid_image`,
        `rate_limited`.
        """
        _check_format(image)
        return await self._take_turn(image, signer)

    async def crop_square(self, image: bytes, side: int, signer: Address) -> bytes:
        """Return the square in the middle of an image, scaled down and encoded again like
        `recode`."""
        _check_format(image)
        return await self._take_turn(image, signer, (side, side), cropped=True)

    async def scale(self, image: bytes, box: Box, client: str) -> bytes:
        """Scale down a PNG or JPEG returned by `recode` until it fits the box."""
        return await self._take_turn(image, client, box)

    async def _take_turn(
        self, image: bytes, signer: str, box: Box = NO_BOX, *, cropped: bool = False
    ) -> bytes:
        if self._closed or len(self._jobs) >= MAX_WAITING:
            raise _overloaded()
        turns = self._turns.setdefault(signer, _Turns())
        if turns.taken >= MAX_OF_SIGNER:
            raise RateLimited(RETRY_AFTER)
        job = _Job()
        self._jobs.add(job)
        turns.taken += 1
        try:
            async with turns.lock:
                return await self._run(_Request(image, box, cropped), job)
        finally:
            self._jobs.discard(job)
            turns.taken -= 1
            if turns.taken == 0:
                del self._turns[signer]

    async def _run(self, image: "_Request", job: "_Job") -> bytes:
        if job.abandoned:
            raise _overloaded()
        try:
            loop = asyncio.get_running_loop()
            return await loop.run_in_executor(self._pool, self._recode, image, job)
        except asyncio.CancelledError:
            job.abandon()
            raise

    async def close(self) -> None:
        """Abandon all images and kill every process."""
        self._closed = True
        for job in self._jobs:
            job.abandon()
        await asyncio.to_thread(self._pool.shutdown)
        while self._idle:
            self._idle.pop().close()

    def _recode(self, image: "_Request", job: "_Job") -> bytes:
        """Recode an image. If a reused process turns out to be dead, use another one."""
        while not job.abandoned:
            process = self._take_process()
            try:
                outcome, response = self._exchange(process, image, job)
            except NotAccepted as error:
                if process.used:
                    continue
                _log.error("The image process does not accept images.")
                raise _overloaded() from error
            except ProcessDied as error:
                if job.abandoned:
                    break
                _log.warning("The image process died while it decoded an image.")
                raise Refusal(Code.INVALID_IMAGE, "The image cannot be decoded.") from error
            if outcome == RECODED and response.startswith(_SIGNATURES):
                return response
            raise Refusal(Code.INVALID_IMAGE, response.decode(errors="replace"))
        raise _overloaded()

    def _exchange(
        self, process: "ImageProcess", image: "_Request", job: "_Job"
    ) -> tuple[bytes, bytes]:
        healthy = False
        try:
            if not job.assign(process):
                raise ProcessDied
            response = process.exchange(image, self._wall_limit)
            healthy = True
        finally:
            # Once unassigned, the process cannot be killed for a job that is done.
            if job.assign(None) and healthy:
                self._idle.append(process)
            else:
                process.close()
        return response

    def _take_process(self) -> "ImageProcess":
        try:
            return self._idle.pop()
        except IndexError:
            pass
        try:
            return ImageProcess(self._script)
        except OSError as error:
            _log.error("The image process cannot be started: %s", error.strerror)
            raise _overloaded() from error


class NotAccepted(Exception):
    """The process died before it received the image."""


class ProcessDied(Exception):
    """The process died or ran out of time while decoding the image."""


class ImageProcess:
    """A process that runs recoder.py, and the socket to it. All calls block."""

    def __init__(self, script: Path) -> None:
        self.used = False
        paths = os.pathsep.join(str(Path(path).absolute()) for path in sys.path if path)
        self._socket, theirs = socket.socketpair()
        try:
            with theirs:
                self._process = subprocess.Popen(  # noqa: S603 (our own interpreter and script)
                    [sys.executable, "-s", "-S", "-P", str(script)],
                    stdin=theirs.fileno(),
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    cwd="/",
                    env={"PYTHONPATH": paths},
                    # Ctrl-C in a terminal must not end the process before the service.
                    start_new_session=True,
                )
        except OSError:
            self._socket.close()
            raise

    def exchange(self, image: "_Request", seconds: float) -> tuple[bytes, bytes]:
        """Send an image, and return the outcome and the recoded image or the reason for its
        refusal.

        Raises `NotAccepted` and `ProcessDied`.
        """
        deadline = time.monotonic() + seconds
        try:
            self._socket.settimeout(seconds)
            self._socket.sendall(_REQUEST.pack(len(image.data), *image.box, image.cropped))
            self._socket.sendall(image.data)
            accepted = self._receive(1, deadline)
        except (OSError, ProcessDied) as error:
            raise NotAccepted from error
        head = self._receive(5, deadline)
        length = int.from_bytes(head[1:])
        if accepted != ACCEPTED or length > MAX_RESPONSE:
            raise ProcessDied
        self.used = True
        return head[:1], self._receive(length, deadline)

    def kill(self) -> None:
        """Kill the process from any thread. A running `exchange` raises `ProcessDied`."""
        self._process.kill()

    def close(self) -> None:
        """Kill the process, reap it, and close the socket."""
        self._process.kill()
        self._process.wait()
        self._socket.close()

    def _receive(self, length: int, deadline: float) -> bytes:
        data = bytearray(length)
        rest = memoryview(data)
        while rest:
            try:
                self._socket.settimeout(max(deadline - time.monotonic(), 0.001))
                count = self._socket.recv_into(rest)
            except OSError as error:
                raise ProcessDied from error
            if count == 0:
                raise ProcessDied
            rest = rest[count:]
        return bytes(data)


@dataclass(frozen=True, slots=True)
class _Request:
    """An image, the box that it must fit into, and whether it is cropped to a square."""

    data: bytes
    box: Box = NO_BOX
    cropped: bool = False


class _Turns:
    """One signer's images: their number, and the lock held while one is being recoded."""

    __slots__ = ("lock", "taken")

    def __init__(self) -> None:
        self.lock = asyncio.Lock()
        self.taken = 0


class _Job:
    """One image being recoded, which can be abandoned from another thread."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._process: ImageProcess | None = None
        self.abandoned = False

    def assign(self, process: ImageProcess | None) -> bool:
        """Set the process that recodes the image. Returns False if the job was abandoned."""
        with self._lock:
            self._process = process
            return not self.abandoned

    def abandon(self) -> None:
        """Mark the job as abandoned, and kill its process."""
        with self._lock:
            self.abandoned = True
            if self._process is not None:
                self._process.kill()


def _check_format(image: bytes) -> None:
    if len(image) > MAX_IMAGE_BYTES:
        raise Refusal(Code.TOO_LARGE, f"The picture may have at most {MAX_IMAGE_BYTES} bytes.")
    if not image.startswith(_SIGNATURES) and _WEBP.match(image) is None:
        raise Refusal(Code.UNSUPPORTED_MEDIA_TYPE, "An image is a PNG, JPEG or WebP file.")


def _overloaded() -> Unavailable:
    return Unavailable(Code.OVERLOADED, "Images cannot be checked right now.")
