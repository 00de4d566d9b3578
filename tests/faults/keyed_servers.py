"""Fakes of servers that accept several keys at once, as the real ones do during a rotation."""

import hmac
import json
import re
import ssl
from base64 import b64decode, b64encode
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from hashlib import md5, sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import quote
from xml.sax.saxutils import escape

import jwt
from aiohttp import web
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.x509.oid import NameOID
from tests.adapters.content.kubo_fake import KuboFake
from tests.adapters.content.pinata_fake import PinataFake
from tests.canaries import WATCH
from tests.world import Node

_SIGNED = re.compile(
    r"AWS4-HMAC-SHA256 Credential=([^/]+)/([0-9]{8})/([a-z0-9-]+)/s3/aws4_request, ?"
    r"SignedHeaders=([a-z0-9;-]+), ?Signature=([0-9a-f]{64})"
)
_ONLY_NEW = {("If-None-Match", "*"), ("x-goog-if-generation-match", "0")}
_MUST_BE_SIGNED = {"host", "x-amz-content-sha256", "x-amz-date"}

_AZURE_SIGNED = (
    *("content-encoding", "content-language", "content-length", "content-md5", "content-type"),
    *("date", "if-modified-since", "if-match", "if-none-match", "if-unmodified-since", "range"),
)
"""The headers that a Shared Key signs, in order."""

STORED_AT = "Wed, 18 Nov 2026 12:00:00 GMT"


@dataclass(slots=True)
class KeyedNode(Node):
    """A node whose URL ends with a key."""

    keys: set[str] = field(default_factory=set)

    async def _respond(self, request: web.BaseRequest) -> web.StreamResponse:
        if request.path.removeprefix("/v2/") not in self.keys:
            return web.Response(status=401, text=f"The key in {request.path} is not valid.")
        return await Node._respond(self, request)


@dataclass
class KeyedKubo(KuboFake):
    """A Kubo node with several users."""

    keys: set[str] = field(default_factory=set)

    @property
    def url(self) -> str:
        return self.address

    async def respond(self, request: web.Request) -> web.StreamResponse:
        given = request.headers.get("Authorization")
        self.authorization = given if given in self.keys else ""
        return await KuboFake.respond(self, request)


@dataclass
class KeyedPinata(PinataFake):
    """A Pinata account with several API keys."""

    keys: set[str] = field(default_factory=set)

    @property
    def url(self) -> str:
        return self.origin

    def route(
        self, name: str, run: Callable[[web.Request], Awaitable[web.Response]], keyed: bool = True
    ) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
        receive = PinataFake.route(self, name, run, keyed)

        async def receive_with_key(request: web.Request) -> web.StreamResponse:
            given = request.headers.get("Authorization", "").removeprefix("Bearer ")
            self.jwt = given if given in self.keys else ""
            return await receive(request)

        return receive_with_key if keyed else receive

    def signature(self, path: str, query: dict[str, str]) -> str:
        # Links belong to the account: they outlive the key that requested them.
        return PinataFake.signature(PinataFake("account"), path, query)


@dataclass(slots=True)
class KeyedBucket:
    """An S3 bucket with several access keys, which verifies the signature of every request.

    A key is the id and the secret, separated by a colon.
    """

    keys: set[str] = field(default_factory=set)
    is_down: bool = False
    objects: dict[str, bytes] = field(default_factory=dict)
    url: str = ""
    stored_status: int = 200
    _runner: web.ServerRunner | None = None

    async def start(self) -> None:
        server = web.Server(self._respond, access_log=None)
        self._runner = web.ServerRunner(server)
        await self._runner.setup()
        tls = self._make_tls()
        site = web.TCPSite(self._runner, "127.0.0.1", 0, ssl_context=tls)
        await site.start()
        port = self._runner.addresses[0][1]
        self.url = f"http://127.0.0.1:{port}" if tls is None else f"https://localhost:{port}"

    @property
    def environ(self) -> dict[str, str]:
        """What a service needs in its environment to use this bucket, beside its settings."""
        return {}

    async def stop(self) -> None:
        if self._runner is not None:
            await self._runner.cleanup()

    async def _respond(self, request: web.BaseRequest) -> web.StreamResponse:
        if self.is_down:
            return _refuse(503, "SlowDown")
        body = await request.read()
        return self._refuse_key(request, body) or self._serve(request, body)

    def _serve(self, request: web.BaseRequest, body: bytes) -> web.Response:
        key = self._key_of(request.path)
        if request.method == "POST":
            return self._delete_all(body)
        if not key:
            return self._list(request.query.get("prefix", ""))
        if request.method == "PUT":
            if key in self.objects and not _ONLY_NEW.isdisjoint(request.headers.items()):
                return _refuse(412, "PreconditionFailed")
            self.objects[key] = body
            return web.Response(status=self.stored_status, headers={"ETag": self._tag(key)})
        if request.method == "DELETE":
            self.objects.pop(key, None)
            return web.Response(status=204)
        if key not in self.objects:
            return _refuse(404, "NoSuchKey")
        headers = {"ETag": self._tag(key), "Last-Modified": STORED_AT}
        return web.Response(body=self.objects[key], headers=headers)

    def _refuse_key(self, request: web.BaseRequest, body: bytes) -> web.Response | None:
        """Refuse a request without a valid signature."""
        found = _SIGNED.fullmatch(request.headers.get("Authorization", ""))
        if found is None:
            return _refuse(403, "AccessDenied")
        secrets = dict(key.split(":") for key in self.keys)
        if found[1] not in secrets:
            # Amazon quotes the id of a key that it does not know.
            quoted = f"<AWSAccessKeyId>{found[1]}</AWSAccessKeyId>"
            return _refuse(403, "InvalidAccessKeyId", quoted)
        names = found[4].split(";")
        said = request.headers.get("x-amz-content-sha256", "")
        given = request.headers.get("x-amz-date", "")
        is_right = (
            names == sorted(names)
            and set(names) >= _MUST_BE_SIGNED
            and given.startswith(found[2])
            and said in ("UNSIGNED-PAYLOAD", sha256(body).hexdigest())
            and hmac.compare_digest(found[5], _sign(request, secrets[found[1]], found, names))
        )
        return None if is_right else _refuse(403, "SignatureDoesNotMatch")

    def _list(self, prefix: str) -> web.Response:
        found = "".join(
            f"<Contents><Key>{escape(key)}</Key><ETag>{self._tag(key)}</ETag>"
            f"<LastModified>2026-11-18T12:00:00.000Z</LastModified><Size>{len(data)}</Size></Contents>"
            for key, data in sorted(self.objects.items())
            if key.startswith(prefix)
        )
        text = f"<ListBucketResult><IsTruncated>false</IsTruncated>{found}</ListBucketResult>"
        return web.Response(text=text, content_type="application/xml")

    def _make_tls(self) -> ssl.SSLContext | None:
        return None

    def _key_of(self, path: str) -> str:
        return path.removeprefix("/").partition("/")[2]

    def _delete_all(self, body: bytes) -> web.Response:
        return _refuse(501, "NotImplemented")

    def _tag(self, key: str) -> str:
        return f'"{md5(self.objects[key], usedforsecurity=False).hexdigest()}"'


@dataclass(slots=True)
class KeyedContainer(KeyedBucket):
    """An Azure container of an account with several keys, which verifies every Shared Key."""

    stored_status: int = 201

    @property
    def environ(self) -> dict[str, str]:
        return {"AZURE_STORAGE_USE_EMULATOR": "true", "AZURITE_BLOB_STORAGE_URL": self.url}

    def _key_of(self, path: str) -> str:
        return "/".join(path.split("/")[3:])

    def _refuse_key(self, request: web.BaseRequest, body: bytes) -> web.Response | None:
        path = request.raw_path.partition("?")[0]
        account = path.split("/")[1]
        given = {name.lower(): text for name, text in request.headers.items()}
        given["content-length"] = str(len(body) or "")
        lines = [request.method, *(given.get(name, "") for name in _AZURE_SIGNED)]
        lines += sorted(f"{name}:{given[name]}" for name in given if name.startswith("x-ms-"))
        lines += [f"/{account}{path}"]
        lines += sorted(f"{name.lower()}:{text}" for name, text in request.query.items())
        signed = "\n".join(lines).encode()
        right = [
            f"SharedKey {account}:"
            + b64encode(hmac.digest(b64decode(key), signed, sha256)).decode()
            for key in self.keys
        ]
        return None if given.get("authorization") in right else _refuse(403, "AuthenticationFailed")

    def _delete_all(self, body: bytes) -> web.Response:
        """Delete the objects that a batch names, each in a request of its own."""
        parts = []
        for place, path in enumerate(
            re.findall(r"^DELETE (\S+) HTTP", body.decode(), re.MULTILINE)
        ):
            self.objects.pop(self._key_of(path), None)
            parts.append(
                "--batch\r\nContent-Type: application/http\r\n"
                f"Content-ID: {place}\r\n\r\nHTTP/1.1 202 Accepted\r\n\r\n\r\n"
            )
        headers = {"Content-Type": "multipart/mixed; boundary=batch"}
        said = "".join((*parts, "--batch--\r\n")).encode()
        return web.Response(status=202, body=said, headers=headers)

    def _list(self, prefix: str) -> web.Response:
        found = "".join(
            f"<Blob><Name>{escape(key)}</Name><Properties><Last-Modified>{STORED_AT}</Last-Modified>"
            f"<Content-Length>{len(data)}</Content-Length><Etag>{escape(self._tag(key))}</Etag>"
            "<Content-Type>application/octet-stream</Content-Type></Properties></Blob>"
            for key, data in sorted(self.objects.items())
            if key.startswith(prefix)
        )
        text = f"<EnumerationResults><Blobs>{found}</Blobs><NextMarker/></EnumerationResults>"
        return web.Response(text=text, content_type="application/xml")


@dataclass(slots=True)
class KeyedGoogleBucket(KeyedBucket):
    """A Google bucket with several service accounts, which verifies the token of every request.

    Google's library sends nothing without TLS.
    """

    accounts: dict[str, str] = field(default_factory=dict)
    generations: Counter[str] = field(default_factory=Counter)
    _folder: "TemporaryDirectory[str]" = field(default_factory=TemporaryDirectory)

    def account(self, key_id: str) -> str:
        """Return the JSON of the service account whose private key has this id."""
        if key_id not in self.accounts:
            pem = _pem(rsa.generate_private_key(65537, 2048))
            # It contains no canary.
            WATCH.note_credentials(pem.splitlines())
            self.accounts[key_id] = json.dumps(
                {
                    "private_key": pem,
                    "private_key_id": key_id,
                    "client_email": "imprint@imprint.test",
                    "gcs_base_url": self.url,
                }
            )
        return self.accounts[key_id]

    @property
    def environ(self) -> dict[str, str]:
        return {"SSL_CERT_FILE": str(self._certificate)}

    async def stop(self) -> None:
        await KeyedBucket.stop(self)
        self._folder.cleanup()

    @property
    def _certificate(self) -> Path:
        return Path(self._folder.name) / "localhost.pem"

    def _make_tls(self) -> ssl.SSLContext:
        key = rsa.generate_private_key(65537, 2048)
        name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
        now = datetime.now(UTC)
        made = (
            x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
            .not_valid_before(now - timedelta(hours=1))
            .not_valid_after(now + timedelta(days=1))
            .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
            .sign(key, hashes.SHA256())
        )
        pem = made.public_bytes(serialization.Encoding.PEM).decode()
        self._certificate.write_text(pem + _pem(key))
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(self._certificate)
        return context

    def _serve(self, request: web.BaseRequest, body: bytes) -> web.Response:
        key = self._key_of(request.path)
        wanted = request.headers.get("x-goog-if-generation-match", "0")
        if request.method == "PUT" and wanted not in ("0", str(self.generations[key])):
            return _refuse(412, "PreconditionFailed")
        response = KeyedBucket._serve(self, request, body)
        if request.method == "PUT" and response.status == self.stored_status:
            self.generations[key] += 1
        response.headers["x-goog-generation"] = str(self.generations[key])
        return response

    def _refuse_key(self, request: web.BaseRequest, body: bytes) -> web.Response | None:
        token = request.headers.get("Authorization", "").removeprefix("Bearer ")
        known = {each["private_key_id"]: each for each in map(json.loads, self.keys)}
        try:
            account = known[jwt.get_unverified_header(token)["kid"]]
            pem = account["private_key"].encode()
            # Validating our own key would take a third of a second.
            private = serialization.load_pem_private_key(
                pem, None, unsafe_skip_rsa_key_validation=True
            )
            jwt.decode(token, private.public_key(), ["RS256"], issuer=account["client_email"])
        except (jwt.InvalidTokenError, KeyError):
            return _refuse(401, "InvalidToken")
        return None


def _pem(key: rsa.RSAPrivateKey) -> str:
    return key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    ).decode()


def _sign(request: web.BaseRequest, secret: str, found: re.Match[str], names: list[str]) -> str:
    """Return the only right Signature V4 of a request that names a key's id and signed headers."""
    query = "&".join(
        sorted(f"{_encode(name)}={_encode(text)}" for name, text in request.query.items())
    )
    lines = [request.method, request.raw_path.partition("?")[0], query]
    lines += [f"{name}:{' '.join(request.headers.get(name, '').split())}" for name in names]
    lines += ["", ";".join(names), request.headers["x-amz-content-sha256"]]
    scope = [found[2], found[3], "s3", "aws4_request"]
    hashed = sha256("\n".join(lines).encode()).hexdigest()
    text = "\n".join(["AWS4-HMAC-SHA256", request.headers["x-amz-date"], "/".join(scope), hashed])
    key = f"AWS4{secret}".encode()
    for part in (*scope, text):
        key = hmac.digest(key, part.encode(), sha256)
    return key.hex()


def _encode(text: str) -> str:
    return quote(text, safe="-_.~")


def _refuse(status: int, code: str, more: str = "") -> web.Response:
    text = f"<Error><Code>{code}</Code>{more}</Error>"
    return web.Response(status=status, text=text, content_type="application/xml")
