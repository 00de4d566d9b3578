"""Bucket objects through obstore, with deadlines, retries, a circuit breaker and clear errors."""

import asyncio
import logging
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from obstore.exceptions import (
    AlreadyExistsError,
    BaseError,
    PreconditionError,
    UnauthenticatedError,
)
from obstore.store import ObjectStore

from imprint.adapters.content.http_retry import (
    BYTES_PER_SECOND,
    DEFAULT_POLICY,
    MAX_DOCUMENT,
    RetryPolicy,
    StoreFailure,
)
from imprint.domain.errors import StoreMisconfigured, Unavailable
from imprint.ports import Monotonic, monotonic
from imprint.traces import timed_call

if TYPE_CHECKING:
    from obstore import PutMode, UpdateVersion

ATTEMPT_SHARE = 3
"""One attempt may take at most the operation's time limit divided by this number, so that a lost
request can be retried."""

CIRCUIT_FAILURES = 5
"""Number of consecutive failures after which the circuit opens and operations fail immediately."""

CIRCUIT_SECONDS = 1.0
"""Seconds after which the open circuit lets one operation through."""

PAGE = 1000
"""Number of objects listed per page: the maximum of one S3 response."""

_CODE = re.compile("<Code>([A-Za-z]{1,60})</Code>")
_STATUS = re.compile("status code: ([0-9]{3})")
_NO_BUCKET = frozenset({"NoSuchBucket", "ContainerNotFound", "InvalidBucketName"})
_WRONG_KEYS = frozenset(
    {
        "AuthenticationFailed",
        "ExpiredToken",
        "InvalidAccessKeyId",
        "InvalidClientTokenId",
        "InvalidToken",
        "SignatureDoesNotMatch",
    }
)
_WRONG_REGION = frozenset({"AuthorizationHeaderMalformed", "IncorrectRegion", "PermanentRedirect"})
_REDIRECTED = "redirect without LOCATION"
_log = logging.getLogger(__name__)
_T = TypeVar("_T")


class AlreadyThere(StoreFailure):
    """The object to create already exists, or the object to replace has changed."""


class _Missing(StoreFailure):
    """Not found: the object does not exist, or (if the request names no object) the server is not
    an object store."""


class _Away(StoreFailure):
    """The object store did not respond or reported a failure."""


class _TryAgain(_Away):
    """An attempt got no complete response. A retry may succeed."""


@dataclass(frozen=True, slots=True)
class StoredObject:
    """An object's bytes, and its version for a conditional replacement."""

    data: bytes
    version: "UpdateVersion"


@dataclass(slots=True)
class Circuit:
    """Circuit breaker: while a service is down, operations fail immediately, except for trials.

    The circuit opens after `CIRCUIT_FAILURES` consecutive failures. Trials then run one at a time.
    """

    clock: Monotonic = monotonic
    _failures: int = field(default=0, init=False)
    _next_trial: float = field(default=0.0, init=False)

    def admits(self) -> bool:
        """Whether an operation may be tried now."""
        if self._failures < CIRCUIT_FAILURES:
            return True
        now = self.clock()
        if now < self._next_trial:
            return False
        # Until this trial succeeds or another pause is over, no other operation is admitted.
        self._next_trial = now + CIRCUIT_SECONDS
        return True

    def note(self, responded: bool) -> None:
        """Record the outcome of an operation."""
        if responded:
            self._failures = 0
            return
        self._failures += 1
        self._next_trial = self.clock() + CIRCUIT_SECONDS


class BucketClient:
    """The objects of one bucket under one prefix.

    Every method except `operation` must be called inside an `operation`, and raises `StoreFailure`
    or `StoreMisconfigured`. The library retries connection errors and 5xx statuses; this class
    retries late or incomplete responses.
    """

    def __init__(
        self,
        name: str,
        store: ObjectStore,
        policy: RetryPolicy = DEFAULT_POLICY,
        hint: str = "",
        circuit: Circuit | None = None,
    ) -> None:
        """Use `store`. Log messages call the bucket `name`, and those about lost requests end with
        `hint`."""
        self._name = name
        self._store = store
        self._policy = policy
        self._hint = hint
        self._circuit = circuit or Circuit()
        self._closed = False

    @asynccontextmanager
    async def operation(self, verb: str, seconds: float, size: int = 0) -> AsyncIterator[float]:
        """Yield the loop-time deadline of an operation that may take `seconds`, plus time to
        transfer `size` bytes.

        A `StoreFailure` inside the `with` block, or a missed deadline, is logged and becomes
        `Unavailable`.
        """
        if self._closed or not self._circuit.admits():
            raise Unavailable.storage()
        deadline = asyncio.get_running_loop().time() + seconds + size / BYTES_PER_SECOND
        try:
            with timed_call("storage", verb):
                async with asyncio.timeout_at(deadline):
                    yield deadline
        except (StoreFailure, TimeoutError) as error:
            self._circuit.note(responded=not isinstance(error, _Away | TimeoutError))
            reason = str(error) if isinstance(error, StoreFailure) else f"no response{self._hint}"
            _log.error("The bucket failed to %s: %s", verb, reason)
            raise Unavailable.storage() from error
        except StoreMisconfigured as error:
            self._circuit.note(responded=True)
            _log.error("The bucket failed to %s: %s", verb, error.sentence)
            raise
        else:
            self._circuit.note(responded=True)

    async def put(self, key: str, data: bytes, deadline: float) -> None:
        """Store an object durably, replacing an existing one."""

        async def send() -> None:
            await self._store.put_async(key, data, use_multipart=False)

        await self._repeat(send, deadline, len(data))

    async def put_unless_changed(
        self, key: str, data: bytes, known: StoredObject | None, deadline: float
    ) -> None:
        """Replace an object that is known, or create one if none is known.

        Raises `AlreadyThere` if the object has changed or already exists, even if an earlier
        attempt of this call caused that and its response was lost.
        """

        async def send() -> None:
            mode: PutMode = "create" if known is None else known.version
            await self._store.put_async(key, data, mode=mode, use_multipart=False)

        await self._repeat(send, deadline, len(data))

    async def get(self, key: str, deadline: float) -> StoredObject | None:
        """Return an object, or None if it does not exist."""

        async def send() -> StoredObject:
            found = await self._store.get_async(key)
            if found.meta["size"] > MAX_DOCUMENT:
                raise StoreFailure("an object is too large")
            try:
                data = bytes(await found.bytes_async())
            except (BaseError, OSError) as error:
                raise _TryAgain("a response was truncated") from error
            version: UpdateVersion = {"e_tag": found.meta["e_tag"]}
            if found.meta["version"] is not None:
                # Google compares the version, all others the entity tag.
                version["version"] = found.meta["version"]
            return StoredObject(data, version)

        try:
            return await self._repeat(send, deadline)
        except _Missing:
            return None

    async def delete(self, key: str, deadline: float) -> None:
        """Delete an object. A missing object is not an error."""
        try:
            await self._repeat(lambda: self._store.delete_async(key), deadline)
        except _Missing:
            return

    async def list_below(self, prefix: str, deadline: float) -> list[str]:
        """List the keys of the first `PAGE` objects under a prefix."""

        async def send() -> list[str]:
            async for page in self._store.list(prefix, chunk_size=PAGE):
                return [each["path"] for each in page]
            return []

        return await self._repeat(send, deadline)

    async def list_all(self, prefix: str) -> AsyncIterator[tuple[str, float]]:
        """Yield the key and storage time of every object under a prefix, in order.

        Only one page is in memory at a time, and each page is a separate operation. A failed page
        is listed again from the last key. Raises `Unavailable`.
        """
        after: str | None = None
        pages = aiter(self._store.list(prefix, chunk_size=PAGE))
        failed = 0
        while True:
            try:
                async with self.operation("list", self._policy.timeout):
                    page = await self._send(partial(anext, pages, None))
            except Unavailable:
                failed += 1
                if failed == self._policy.attempts:
                    raise
                await asyncio.sleep(self._policy.pause)
                pages = aiter(self._store.list(prefix, offset=after, chunk_size=PAGE))
                continue
            failed = 0
            if not page:
                return
            for each in page:
                yield each["path"], each["last_modified"].timestamp()
            after = page[-1]["path"]

    def close(self) -> None:
        """Refuse later operations. The library closes its own connections."""
        self._closed = True

    async def _repeat(
        self, send: Callable[[], Awaitable[_T]], deadline: float, size: int = 0
    ) -> _T:
        """Retry until there is a complete response or no time is left for another attempt."""
        loop = asyncio.get_running_loop()
        share = (deadline - loop.time() - size / BYTES_PER_SECOND) / ATTEMPT_SHARE
        pause = self._policy.pause
        for attempt in range(1, self._policy.attempts + 1):
            try:
                async with asyncio.timeout(share + size / BYTES_PER_SECOND):
                    return await self._send(send)
            except (TimeoutError, _TryAgain) as error:
                reason = str(error) or f"no response in time{self._hint}"
                if attempt == self._policy.attempts or loop.time() + pause >= deadline:
                    raise _Away(reason) from error
            await asyncio.sleep(pause)
            pause *= 2
        raise AssertionError("The last attempt returns or raises.")

    async def _send(self, send: Callable[[], Awaitable[_T]]) -> _T:
        try:
            return await send()
        except (AlreadyExistsError, PreconditionError) as error:
            raise AlreadyThere("an object exists, or was changed") from error
        except FileNotFoundError as error:
            self._look_for_mistake(str(error), error)
            raise _Missing("status 404, perhaps not from an object store") from error
        except BaseError as error:
            text = str(error)
            self._look_for_mistake(text, error)
            # The message contains addresses and, with Azure, perhaps a signature.
            status, code = _STATUS.search(text), _CODE.search(text)
            words = [f"status {status[1]}"] if status else [f"no connection{self._hint}"]
            raise _Away(" ".join(words + ([code[1]] if code else []))) from error

    def _look_for_mistake(self, text: str, error: Exception) -> None:
        """Raise `StoreMisconfigured` if the response shows that the settings are wrong."""
        match = _CODE.search(text)
        code = match[1] if match else ""
        status = _STATUS.search(text)
        forbidden = status is not None and status[1] in {"401", "403"}
        if code in _NO_BUCKET:
            sentence = (
                f"The bucket {self._name} does not exist: create it, or correct "
                "IMPRINT_CONTENT_STORE."
            )
        elif code in _WRONG_REGION or _REDIRECTED in text:
            sentence = (
                f"The bucket {self._name} is in another region: set IMPRINT_S3_REGION to its own."
            )
        elif code == "RequestTimeTooSkewed":
            sentence = "The object store refuses requests because this machine's clock is wrong."
        elif code in _WRONG_KEYS or isinstance(error, UnauthenticatedError):
            sentence = (
                f"The object store refuses the credentials for the bucket {self._name}"
                f"{f' ({code})' if code else ''}: correct the access key in the settings, or the "
                "role that the platform assigns to this machine."
            )
        elif forbidden:
            sentence = (
                f"The credentials may not use the bucket {self._name} ({code or 'forbidden'}):"
                " they must be allowed to read, write, delete and list its objects."
            )
        else:
            return
        raise StoreMisconfigured(sentence) from error
