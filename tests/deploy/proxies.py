"""The proxies of `deploy/` as run by Debian's packages, on free ports, in separate folders."""

import json
import os
import socket
import ssl
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

import httpx2
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from tests.processes import POLL_SECONDS, Process, free_port

DEPLOY = Path(__file__).parents[2] / "deploy"
NGINX = DEPLOY / "nginx" / "imprint.conf"
CADDY = DEPLOY / "caddy" / "Caddyfile"
HAPROXY = DEPLOY / "haproxy" / "haproxy.cfg"

UNPRIVILEGED = """\
{user}
daemon off;
worker_processes 1;
pid {folder}/nginx.pid;
error_log stderr;
events {{}}
http {{
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    include {folder}/imprint.conf;
}}
"""
"""A `/etc/nginx/nginx.conf` that includes the snippet."""


def wait_until(condition: Callable[[], bool], seconds: float = 60) -> None:
    """Wait until a condition holds, such as a log line written after the response."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it took too long"
        time.sleep(POLL_SECONDS)


@dataclass(frozen=True, slots=True)
class Certificate:
    """A self-signed certificate for this machine."""

    chain: Path
    key: Path

    @property
    def both(self) -> Path:
        """The certificate and key in one file, as HAProxy requires."""
        return self.chain.with_suffix(".both")


def make_certificate(folder: Path) -> Certificate:
    """Create a certificate for localhost in this folder, valid for one day."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    now = datetime.now(UTC)
    names = [x509.DNSName("localhost"), x509.IPAddress(ip_address("127.0.0.1"))]
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .sign(key, hashes.SHA256())
    )
    made = Certificate(folder / "localhost.pem", folder / "localhost.key")
    pem = certificate.public_bytes(serialization.Encoding.PEM)
    plain = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    made.chain.write_bytes(pem)
    made.key.write_bytes(plain)
    made.both.write_bytes(pem + plain)
    return made


@dataclass(slots=True)
class Proxy:
    """A proxy in front of one service.

    `changes` maps strings in its configuration file to their replacements.
    """

    name: str
    folder: Path
    upstream: int
    changes: Mapping[str, str] = field(default_factory=dict)
    port: int = field(default_factory=free_port)
    plain_port: int = field(default_factory=free_port)
    process: Process = field(init=False)
    authority: Path = field(init=False)
    """The certificate that clients must trust."""

    def __post_init__(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        command, environ = _SET_UPS[self.name](self)
        self.process = Process(command, self.folder / f"{self.name}.log", environ)

    @property
    def url(self) -> str:
        return f"https://localhost:{self.port}"

    @property
    def plain_url(self) -> str:
        return f"http://localhost:{self.plain_port}"

    @property
    def log(self) -> str:
        return self.process.log.read_text("utf-8", "replace")

    def client(self, address: str = "127.0.0.1", *, http2: bool = False) -> httpx2.Client:
        """Return a client that connects from this local address."""
        context = ssl.create_default_context(cafile=str(self.authority))
        transport = httpx2.HTTPTransport(verify=context, local_address=address, http2=http2)
        return httpx2.Client(transport=transport, base_url=self.url, timeout=60)

    @contextmanager
    def connection(self, *protocols: str) -> Iterator[ssl.SSLSocket]:
        """Open a connection for writing raw requests."""
        context = ssl.create_default_context(cafile=str(self.authority))
        context.set_alpn_protocols(protocols or ("http/1.1",))
        with (
            socket.create_connection(("127.0.0.1", self.port), timeout=60) as plain,
            context.wrap_socket(plain, server_hostname="localhost") as opened,
        ):
            yield opened

    def exchange(self, request: bytes) -> tuple[int, dict[str, object]]:
        """Send raw bytes and return the status and the problem details of the response."""
        with self.connection() as opened:
            opened.sendall(request)
            said = opened.recv(65536)
            while not said.endswith(b"}"):
                more = opened.recv(65536)
                assert more, said
                said += more
        head, _, body = said.partition(b"\r\n\r\n")
        assert b"application/problem+json" in head
        return int(head.split()[1]), json.loads(body)

    def client_when_listening(self) -> httpx2.Client:
        """Wait until the proxy accepts connections and return a client."""
        wait_until(self._listens)
        return self.client()

    def copy(self, source: Path, changes: Mapping[str, str]) -> Path:
        """Copy a file, replacing the given texts, each of which must occur in it."""
        text = source.read_text("utf-8")
        for old, new in {**changes, **self.changes}.items():
            assert old in text, f"{source.name} has no {old!r}"
            text = text.replace(old, new)
        target = self.folder / source.name
        target.write_text(text, "utf-8")
        return target

    def responds(self) -> bool:
        """Return whether the service responds through the proxy."""
        return self._status() == 200

    def _listens(self) -> bool:
        return self._status() is not None

    def _status(self) -> int | None:
        try:
            with self.client() as client:
                return client.get("/healthz").status_code
        except (httpx2.TransportError, OSError):
            return None


Command = tuple[list[str], dict[str, str]]


def _nginx(proxy: Proxy) -> Command:
    certificate = make_certificate(proxy.folder)
    proxy.authority = certificate.chain
    proxy.copy(
        NGINX,
        {
            "listen 80;": f"listen {proxy.plain_port};",
            "listen [::]:80;": f"listen [::]:{proxy.plain_port};",
            "listen 443 ": f"listen {proxy.port} ",
            "listen [::]:443 ": f"listen [::]:{proxy.port} ",
            "server 127.0.0.1:8000;": f"server 127.0.0.1:{proxy.upstream};",
            "server_name imprint.example;": "server_name localhost;",
            "/etc/imprint/tls/fullchain.pem": str(certificate.chain),
            "/etc/imprint/tls/privkey.pem": str(certificate.key),
            "/var/log/nginx/imprint.log": "/dev/stdout",
        },
    )
    user = "user root;" if os.geteuid() == 0 else ""
    written = proxy.folder / "nginx.conf"
    written.write_text(UNPRIVILEGED.format(user=user, folder=proxy.folder))
    return ["nginx", "-p", str(proxy.folder), "-c", str(written), "-e", "stderr"], {}


def _caddy(proxy: Proxy) -> Command:
    proxy.authority = proxy.folder / "data/caddy/pki/authorities/local/root.crt"
    # Another Caddy on this machine may use the default port of the admin endpoint.
    admin = f"\tadmin 127.0.0.1:{free_port()}\n"
    written = proxy.copy(CADDY, {"\tskip_install_trust\n": f"\tskip_install_trust\n{admin}"})
    environ = {
        **_variables(proxy),
        "IMPRINT_SITE_ADDRESS": "localhost",
        "HOME": str(proxy.folder),
        "XDG_DATA_HOME": str(proxy.folder / "data"),
        "XDG_CONFIG_HOME": str(proxy.folder / "config"),
    }
    return ["caddy", "run", "--config", str(written), "--adapter", "caddyfile"], environ


def _haproxy(proxy: Proxy) -> Command:
    certificate = make_certificate(proxy.folder)
    proxy.authority = certificate.chain
    written = proxy.copy(HAPROXY, {})
    environ = {**_variables(proxy), "IMPRINT_CERTIFICATE": str(certificate.both)}
    return ["haproxy", "-db", "-f", str(written)], environ


def _variables(proxy: Proxy) -> dict[str, str]:
    return {
        "IMPRINT_HTTP_PORT": str(proxy.plain_port),
        "IMPRINT_HTTPS_PORT": str(proxy.port),
        "IMPRINT_UPSTREAM": f"127.0.0.1:{proxy.upstream}",
    }


_SET_UPS: dict[str, Callable[[Proxy], Command]] = {
    "nginx": _nginx,
    "caddy": _caddy,
    "haproxy": _haproxy,
}

NAMES = tuple(_SET_UPS)


@contextmanager
def running_proxy(proxy: Proxy) -> Iterator[Proxy]:
    """Run the proxy until the context exits."""
    proxy.process.start(proxy.responds)
    try:
        yield proxy
    finally:
        proxy.process.kill()
