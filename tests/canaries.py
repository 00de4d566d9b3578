"""Canaries: recognisable values for every secret, and a watch over everything that could leak them.

Services in tests run with these values. After each test, the watch reports every log record,
response, metric label and line of output that contains a canary. It also reports every log record,
metric label and line of output that contains a session, signature, cookie or feed token that a
client has sent before, and every response to the request that contains it.
"""

import json
import logging
import os
import re
import subprocess
import traceback
import zlib
from base64 import b64encode
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from hashlib import sha256
from io import FileIO
from pathlib import Path
from typing import Any

import httpx2
from click.testing import CliRunner, Result
from prometheus_client import Metric
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from tools import trust

from imprint import logs
from imprint.web.http import middleware
from imprint.web.http.middleware import WEBHOOK_PATHS, RequestMiddleware

MARK = "ca9a12e55ec12e75"
"""Part of every canary. It is hexadecimal, because master keys are."""


def canary(name: str) -> str:
    """Return a canary of 64 hexadecimal digits, different for each name."""
    return MARK + sha256(name.encode()).hexdigest()[:48]


def _base64_spellings(text: str) -> Iterator[str]:
    """Return the base64 of a text at each offset, without the digits that depend on neighbours."""
    for offset in range(3):
        encoded = b64encode(b"\0" * offset + text.encode()).decode().rstrip("=")
        yield encoded[(8 * offset + 5) // 6 : -1]


SPELLINGS = (MARK, *_base64_spellings(MARK))
"""The mark in every encoding in which a secret is sent."""

RPC_PATH = f"/v2/{canary('CHAIN_RPC_URL')}"
"""The path of a node's URL, which contains the API key of the node provider."""

CANARIES: Mapping[str, str] = {
    "DATABASE_URL": f"postgresql://imprint:{canary('DATABASE_URL')}@127.0.0.1:1/imprint",
    "KUBO_AUTHORIZATION": f"basic:imprint:{canary('KUBO_AUTHORIZATION')}",
    "PINATA_JWT": canary("PINATA_JWT"),
    "S3_ACCESS_KEY_ID": canary("S3_ACCESS_KEY_ID"),
    "S3_SECRET_ACCESS_KEY": canary("S3_SECRET_ACCESS_KEY"),
    "GS_SERVICE_ACCOUNT_KEY": json.dumps(
        {
            "private_key": f"-----BEGIN PRIVATE KEY-----\n{canary('GS_SERVICE_ACCOUNT_KEY')}\n",
            "private_key_id": canary("private_key_id"),
            "client_email": "imprint@imprint.test",
            "gcs_base_url": "http://127.0.0.1:1",
        }
    ),
    "AZ_ACCESS_KEY": canary("AZ_ACCESS_KEY"),
    "ENCRYPTION_KEY": canary("ENCRYPTION_KEY"),
    "ENCRYPTION_KEY_PREVIOUS": canary("ENCRYPTION_KEY_PREVIOUS"),
    "CHAIN_RPC_URL": f"http://127.0.0.1:1{RPC_PATH}",
    "JWT_SECRET": canary("JWT_SECRET"),
    "JWT_SECRET_PREVIOUS": canary("JWT_SECRET_PREVIOUS"),
    "PAGE_TOKEN_SECRET": canary("PAGE_TOKEN_SECRET"),
    "PAGE_TOKEN_SECRET_PREVIOUS": canary("PAGE_TOKEN_SECRET_PREVIOUS"),
    "WEBHOOK_A_SECRET": canary("WEBHOOK_A_SECRET"),
    "WEBHOOK_A_SECRET_PREVIOUS": canary("WEBHOOK_A_SECRET_PREVIOUS"),
    "WEBHOOK_B_SECRET": canary("WEBHOOK_B_SECRET"),
    "WEBHOOK_B_SECRET_PREVIOUS": canary("WEBHOOK_B_SECRET_PREVIOUS"),
    "OPERATOR_SECRET": canary("OPERATOR_SECRET"),
    "OPERATOR_SECRET_PREVIOUS": canary("OPERATOR_SECRET_PREVIOUS"),
}
"""A value for every secret setting, named without its prefix."""

UNUSED = (
    "KUBO_AUTHORIZATION",
    "PINATA_JWT",
    "S3_ACCESS_KEY_ID",
    "S3_SECRET_ACCESS_KEY",
    "GS_SERVICE_ACCOUNT_KEY",
    "AZ_ACCESS_KEY",
)
"""Settings that change nothing unless IMPRINT_CONTENT_STORE names their store."""

SIGNING = ("JWT_SECRET", "WEBHOOK_A_SECRET", "WEBHOOK_B_SECRET")
"""The secrets with which a service in the test process signs and verifies."""


def canaries_of(*names: str) -> dict[str, str]:
    """Return the canaries of these settings, named with their prefix."""
    return {f"IMPRINT_{name}": CANARIES[name] for name in names}


def unused_canaries(environ: Mapping[str, str]) -> dict[str, str]:
    """Return canaries for the keys of all content stores except the one that is used."""
    used = environ.get("IMPRINT_CONTENT_STORE", "embedded").partition(":")[0].partition("-")[0]
    return canaries_of(*(name for name in UNUSED if not name.startswith(f"{used.upper()}_")))


WATCHED_LOGGERS = ("imprint", "aiohttp", "asyncio", "asyncpg", "py.warnings", "uvicorn")
"""The loggers of the service and its dependencies. All others belong to clients in the tests."""

CREDENTIAL_HEADERS = {
    b"authorization",
    b"cookie",
    b"payment-signature",
    b"sign-in-with-x",
    b"x-alchemy-signature",
    b"x-qn-signature",
}
_SIGNATURE = re.compile(rb"0x[0-9a-fA-F]{128,}")
_FEED_TOKEN = re.compile(r"/feeds/private/([\w-]{20,})")
_SHORTEST_CREDENTIAL = 20
_FEWEST_CHARACTERS = 8
"""Number of distinct characters below which a header is padding rather than a credential."""

_WORD = re.compile(rf"[\w-]{{{_SHORTEST_CREDENTIAL},}}", re.ASCII)
"""A part of a text that may be a credential, or a part of one that is as secret."""

_LONGEST_BODY = 65_536
_PIECE = 1_048_576
"""Number of bytes of a response that are inspected together."""

_OVERLAP = 4096
"""Number of bytes that two pieces of a response have in common."""

OUTPUTS = "outputs of processes and commands"

PUBLIC_SIGNATURES = ("/profile", "/revisions", "/posts/")
"""Paths whose responses show the author's signature, so that anybody can verify it."""


@dataclass(slots=True)
class SecretWatch:
    """Collects the leaks of this process and of the processes it has started."""

    inspected: Counter[str] = field(default_factory=Counter)
    """Number of inspected texts of each kind."""
    _leaks: list[str] = field(default_factory=list)
    _sent: set[str] = field(default_factory=set)
    """The words of all credentials that clients have sent."""
    _outputs: dict[tuple[int, int], FileIO] = field(default_factory=dict)
    """The output files of processes by device and inode, open where reading goes on."""

    def watch(self) -> None:
        """Watch log records, responses and the output of commands in this process from now on."""
        _watch_records(self)
        _watch_responses(self)
        _watch_requests(self)
        _watch_commands(self)

    def watch_output(self, path: Path) -> None:
        """Read what a process writes to this file after each test, even once it is deleted."""
        path.touch()
        found = path.stat()
        if (found.st_dev, found.st_ino) not in self._outputs:
            # Folders of tests are deleted before the end of the test, but an open file stays.
            self._outputs[found.st_dev, found.st_ino] = FileIO(path)

    def take_leaks(self) -> list[str]:
        """Return the leaks found since the last call, including those in the output of
        processes."""
        for key, output in list(self._outputs.items()):
            place = f"output {Path(os.fsdecode(output.name)).name}"
            try:
                written = output.readall()
            except OSError as error:
                self._leaks.append(f"{place} cannot be read: {error}")
                output.close()
                del self._outputs[key]
                continue
            if written:
                self.inspected[OUTPUTS] += 1
                self.inspect(place, written.decode("utf-8", "replace"))
            elif not os.fstat(output.fileno()).st_nlink:
                # Deleted, and its process has written nothing since the last call.
                output.close()
                del self._outputs[key]
        found, self._leaks = self._leaks, []
        return found

    def inspect_metrics(self, metrics: Iterable[Metric]) -> None:
        """Look for canaries and credentials in the labels of metrics."""
        for metric in metrics:
            for sample in metric.samples:
                self.inspected["samples of metrics"] += 1
                self.inspect(f"metric {sample.name}", str(sample.labels))

    def inspect(self, place: str, text: str) -> None:
        """Report each line of a text that contains a canary or a credential that was sent."""
        self._look_for_canaries(place, text)
        if self._has_sent(text):
            self._leaks += [
                f"credential in {place}: {line[:2000]}"
                for line in text.splitlines()
                if self._has_sent(line)
            ]

    def inspect_record(self, record: logging.LogRecord) -> None:
        """Look for canaries and credentials in a log record, before any redaction."""
        self.inspected["log records"] += 1
        text = f"{record.getMessage()} {vars(record)}"
        if record.exc_info:
            text += "".join(traceback.format_exception(*record.exc_info))
        self.inspect(f"log record of {record.name}", text)

    def note_credentials(self, texts: list[str]) -> list[str]:
        """Remember those credentials that are long and varied enough to be real."""
        real = [
            text
            for text in texts
            if len(text) >= _SHORTEST_CREDENTIAL and len(set(text)) >= _FEWEST_CHARACTERS
        ]
        self._sent.update(word for text in real for word in _WORD.findall(text))
        return real

    def note_request(self, path: str, headers: Iterable[tuple[bytes, bytes]]) -> list[str]:
        """Remember the credentials in a request's path and headers, and return the latter."""
        self.note_credentials(_FEED_TOKEN.findall(path))
        texts = [text.decode("latin-1") for name, text in headers if _is_secret(name)]
        return self.note_credentials([word for text in texts for word in re.split("[ =]", text)])

    def note_signatures(self, path: str, body: bytes | bytearray) -> list[str]:
        """Remember and return the signatures in the body of a request.

        Deliveries are signed in a header, and their bodies contain only data of public events.
        """
        if path.startswith(WEBHOOK_PATHS):
            return []
        return self.note_credentials(list(map(bytes.decode, _SIGNATURE.findall(body))))

    def inspect_response(self, path: str, sent: list[str], data: bytes | bytearray) -> None:
        """Look for canaries, and for credentials of the request, in bytes of its response."""
        text = data.decode("latin-1")
        self._look_for_canaries(f"response of {path}", text)
        self.add_leaks(f"credential in the response of {path}" for each in sent if each in text)

    def add_leaks(self, leaks: Iterable[str]) -> None:
        """Report these leaks after the test."""
        self._leaks += leaks

    def _look_for_canaries(self, place: str, text: str) -> None:
        if any(spelling in text for spelling in SPELLINGS):
            self._leaks += [
                f"{place}: {line[:2000]}"
                for line in text.splitlines()
                if any(spelling in line for spelling in SPELLINGS)
            ]

    def _has_sent(self, text: str) -> bool:
        return not self._sent.isdisjoint(_WORD.findall(text))

    def save_inspected(self, seconds: float) -> None:
        """Save how much was inspected, after a run of all tests that found no leak."""
        trust.save_result(
            trust.Result(
                "Secrets",
                "A recognizable value for every secret setting, and every session, signature and"
                " feed token that a test sends, none of which may appear in a log record, a"
                " metric, the output or traceback of a process, or a response; in responses,"
                " what a test sends is sought only in the one to the same request.",
                {"secret settings": len(CANARIES), **dict(sorted(self.inspected.items()))},
                "nothing",
                "make test",
                round(seconds),
            )
        )


WATCH = SecretWatch()
"""The watch of this test process."""


def _is_watched(logger: logging.Logger) -> bool:
    return logger.name.startswith(WATCHED_LOGGERS)


def _watch_records(watch: SecretWatch) -> None:
    """Make loggers create every record, even one that no handler would get, and inspect it."""
    is_enabled, handle = logging.Logger.isEnabledFor, logging.Logger.handle

    def is_enabled_for(self: logging.Logger, level: int) -> bool:
        return _is_watched(self) or is_enabled(self, level)

    def inspect_and_handle(self: logging.Logger, record: logging.LogRecord) -> None:
        if _is_watched(self):
            watch.inspect_record(record)
        if is_enabled(self, record.levelno):
            handle(self, record)

    def log_response(logger: logging.Logger, fields: dict[str, object]) -> None:
        # The service makes no record of a response.
        level, message = logging.INFO, "responded"
        made = logger.makeRecord(logger.name, level, "", 0, message, (), None, "", fields)
        watch.inspect_record(made)
        if is_enabled(logger, level):
            logs.log_response(logger, fields)

    setattr(middleware, "log_response", log_response)  # noqa: B010  mypy refuses the other
    setattr(logging.Logger, "isEnabledFor", is_enabled_for)  # noqa: B010
    setattr(logging.Logger, "handle", inspect_and_handle)  # noqa: B010


def _watch_responses(watch: SecretWatch) -> None:
    respond = RequestMiddleware.__call__

    async def respond_watched(
        self: RequestMiddleware, scope: Scope, receive: Receive, send: Send
    ) -> None:
        await watch_app(watch, partial(respond, self))(scope, receive, send)

    setattr(RequestMiddleware, "__call__", respond_watched)  # noqa: B010


def watch_app(watch: SecretWatch, app: ASGIApp) -> ASGIApp:
    """Return the same app, with its responses inspected."""

    async def respond(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await app(scope, receive, send)
            return
        path: str = scope["path"]
        sent = watch.note_request(path, scope["headers"])
        body, response = bytearray(), _Response(watch, path, sent)

        async def receive_watched() -> Message:
            message = await receive()
            if message.get("body") and len(body) < _LONGEST_BODY:
                body.extend(message["body"][:_LONGEST_BODY])
                real = watch.note_signatures(path, body)
                sent.extend([] if path.startswith(PUBLIC_SIGNATURES) else real)
            return message

        async def send_watched(message: Message) -> None:
            if message["type"] == "http.response.start":
                response.start(message["headers"])
            else:
                response.add(message.get("body", b""))
                if not message.get("more_body"):
                    response.finish()
            await send(message)

        try:
            await app(scope, receive_watched, send_watched)
        finally:
            response.finish()

    return respond


@dataclass(slots=True)
class _Response:
    """A response to a request with the credentials `sent`, inspected uncompressed and in pieces."""

    watch: SecretWatch
    path: str
    sent: list[str]
    _unpack: Callable[[bytes], bytes] = bytes
    _body: bytearray = field(default_factory=bytearray)

    def start(self, headers: Iterable[tuple[bytes, bytes]]) -> None:
        self.watch.inspected["responses"] += 1
        given = list(headers)
        self.watch.inspect_response(self.path, self.sent, b"\n".join(text for _, text in given))
        if (b"content-encoding", b"gzip") in given:
            self._unpack = zlib.decompressobj(zlib.MAX_WBITS | 16).decompress

    def add(self, data: bytes) -> None:
        try:
            self._body += self._unpack(data)
        except zlib.error:
            self.watch.add_leaks([f"response of {self.path} cannot be decompressed"])
        if len(self._body) > _PIECE:
            self.watch.inspect_response(self.path, self.sent, self._body)
            del self._body[:-_OVERLAP]

    def finish(self) -> None:
        """Inspect the end of the body, even of a response that was aborted."""
        if self._body:
            self.watch.inspect_response(self.path, self.sent, self._body)
            self._body.clear()


def _is_secret(header: bytes) -> bool:
    return header.lower() in CREDENTIAL_HEADERS


def _watch_requests(watch: SecretWatch) -> None:
    """Note the credentials that this process sends, also to services in other processes."""
    send = httpx2.AsyncClient.send

    async def send_watched(
        self: httpx2.AsyncClient, request: httpx2.Request, **options: Any
    ) -> httpx2.Response:
        watch.note_request(request.url.path, request.headers.raw)
        with suppress(httpx2.RequestNotRead):
            watch.note_signatures(request.url.path, request.content[:_LONGEST_BODY])
        return await send(self, request, **options)

    setattr(httpx2.AsyncClient, "send", send_watched)  # noqa: B010


def _watch_commands(watch: SecretWatch) -> None:
    """Inspect what commands print, whether they run in this process or in their own."""
    run, invoke = subprocess.run, CliRunner.invoke

    def run_watched(*given: Any, **options: Any) -> Any:
        ended = run(*given, **options)
        watch.inspected[OUTPUTS] += 1
        for output in (ended.stdout, ended.stderr):
            text = output if isinstance(output, str) else (output or b"").decode("utf-8", "replace")
            watch.inspect("output of a command", text)
        return ended

    def invoke_watched(*given: Any, **options: Any) -> Result:
        ended = invoke(*given, **options)
        watch.inspected[OUTPUTS] += 1
        watch.inspect("output of a command", ended.output)
        if ended.exc_info is not None and not isinstance(ended.exception, SystemExit):
            # What Python would print.
            trace = "".join(traceback.format_exception(*ended.exc_info))
            watch.inspect("traceback of a command", trace)
        return ended

    setattr(subprocess, "run", run_watched)  # noqa: B010
    setattr(CliRunner, "invoke", invoke_watched)  # noqa: B010
