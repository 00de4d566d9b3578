"""The bucket client: retries, the circuit breaker, and error messages."""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from obstore.exceptions import GenericError, PermissionDeniedError, UnauthenticatedError
from tests.adapters.content.workbenches import SHORT_PAUSES

from imprint.adapters.content.bucket_client import (
    CIRCUIT_FAILURES,
    CIRCUIT_SECONDS,
    BucketClient,
    Circuit,
)
from imprint.adapters.content.http_retry import RetryPolicy
from imprint.domain.errors import StoreMisconfigured, Unavailable

BRISK = RetryPolicy(timeout=2, pause=0.001)
ADDRESS = "https://store.example.org/bucket/private/x?sig=c2VjcmV0"


@dataclass(slots=True)
class Objects:
    """A bucket whose calls have the given outcomes in order. The last outcome repeats."""

    outcomes: list[Callable[[], Any]]
    sent: int = 0

    async def put_async(self, key: str, data: bytes, **named: object) -> None:
        await self.delete_async(key)

    async def get_async(self, key: str) -> None:
        await self.delete_async(key)

    async def delete_async(self, key: str) -> None:
        self.sent += 1
        outcome = self.outcomes.pop(0) if len(self.outcomes) > 1 else self.outcomes[0]
        if (given := outcome()) is not None:
            await given


def response(status: int, code: str) -> str:
    return (
        f"Error performing DELETE {ADDRESS} in 1ms - Server returned non-2xx status code: {status}"
        f" Words: <?xml?>\n<Error><Code>{code}</Code><Key>secret-key</Key></Error>"
    )


def raising(error: Exception) -> Callable[[], Any]:
    def fail() -> None:
        raise error

    return fail


def forever() -> Any:
    return asyncio.sleep(3600)


async def delete(client: BucketClient) -> None:
    async with client.operation("destroy", BRISK.timeout) as deadline:
        await client.delete("key", deadline)


async def test_a_request_without_a_response_is_retried() -> None:
    objects = Objects([forever, lambda: None])
    await delete(BucketClient("s3://b", objects, BRISK))  # type: ignore[arg-type]
    assert objects.sent == 2


async def test_an_operation_ends_at_its_deadline() -> None:
    objects = Objects([forever])
    with pytest.raises(Unavailable):
        await delete(BucketClient("s3://b", objects, BRISK))  # type: ignore[arg-type]
    assert objects.sent > 1


async def test_the_circuit_breaker_opens_after_repeated_failures() -> None:
    now = 0.0
    objects = Objects([raising(GenericError("HTTP error: error sending request"))])
    client = BucketClient("s3://b", objects, SHORT_PAUSES, circuit=Circuit(lambda: now))  # type: ignore[arg-type]
    for _ in range(CIRCUIT_FAILURES + 3):
        with pytest.raises(Unavailable):
            await delete(client)
    assert objects.sent == CIRCUIT_FAILURES
    now += CIRCUIT_SECONDS
    for _ in range(3):
        with pytest.raises(Unavailable):
            await delete(client)
    assert objects.sent == CIRCUIT_FAILURES + 1
    objects.outcomes = [lambda: None]
    now += CIRCUIT_SECONDS
    for _ in range(3):
        await delete(client)
    assert objects.sent == CIRCUIT_FAILURES + 4


async def test_a_404_for_a_put_raises_unavailable(
    caplog: pytest.LogCaptureFixture,
) -> None:
    # The response of a web server at the store's address, such as a proxy with no route to it.
    nowhere = FileNotFoundError("Server returned non-2xx status code: 404 Not Found: <html>")
    client = BucketClient("s3://b", Objects([raising(nowhere)]), SHORT_PAUSES)  # type: ignore[arg-type]
    with pytest.raises(Unavailable):
        async with client.operation("store", BRISK.timeout) as deadline:
            await client.put("key", b"document", deadline)
    assert "perhaps not from an object store" in caplog.text


@pytest.mark.parametrize("status", [400, 500, 503])
async def test_an_unreadable_object_is_not_treated_as_missing(status: int) -> None:
    objects = Objects([raising(GenericError(response(status, "InternalError")))])
    client = BucketClient("s3://b", objects, BRISK)  # type: ignore[arg-type]
    with pytest.raises(Unavailable):
        async with client.operation("read", BRISK.timeout) as deadline:
            await client.get("key", deadline)


async def test_failures_between_successes_leave_the_circuit_closed() -> None:
    down = raising(GenericError("HTTP error"))
    objects = Objects([down, lambda: None] * 20)
    client = BucketClient("s3://b", objects, SHORT_PAUSES)  # type: ignore[arg-type]
    for _ in range(20):
        with pytest.raises(Unavailable):
            await delete(client)
        await delete(client)


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (FileNotFoundError(response(404, "NoSuchBucket")), "s3://b does not exist"),
        (PermissionDeniedError(response(403, "SignatureDoesNotMatch")), "refuses the credentials"),
        (PermissionDeniedError(response(403, "InvalidAccessKeyId")), "(InvalidAccessKeyId)"),
        (UnauthenticatedError("Nobody"), "refuses the credentials"),
        (PermissionDeniedError(response(403, "AccessDenied")), "read, write, delete and list"),
        (GenericError(response(400, "AuthorizationHeaderMalformed")), "IMPRINT_S3_REGION"),
        (GenericError("Received redirect without LOCATION, this normally"), "IMPRINT_S3_REGION"),
        (PermissionDeniedError(response(403, "RequestTimeTooSkewed")), "clock is wrong"),
    ],
)
async def test_a_misconfigured_bucket_has_a_readable_error_message(
    error: Exception, words: str
) -> None:
    objects = Objects([raising(error)])
    with pytest.raises(StoreMisconfigured) as refused:
        await delete(BucketClient("s3://b", objects, SHORT_PAUSES))  # type: ignore[arg-type]
    assert words in refused.value.sentence
    assert objects.sent == 1


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (GenericError(response(503, "SlowDown")), "status 503 SlowDown"),
        (GenericError(f"Error performing GET {ADDRESS} - HTTP error"), "no connection"),
        (PermissionDeniedError(response(403, "AccessDenied")), "AccessDenied"),
    ],
)
async def test_addresses_and_signatures_are_not_logged(
    error: Exception, words: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    with pytest.raises(Unavailable):
        await delete(BucketClient("s3://b", Objects([raising(error)]), SHORT_PAUSES))  # type: ignore[arg-type]
    assert words in caplog.text
    for secret in ("example.org", "sig=", "secret-key"):
        assert secret not in caplog.text
