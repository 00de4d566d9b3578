"""Requests and responses of a whole service through the proxies of `deploy/`."""

import json
import os
import re
import shutil
import struct
import subprocess
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from eth_account import Account
from tests.clients.suites import HERE as CLIENTS
from tests.clients.suites import SUITES
from tests.crash.victim import PresentClock
from tests.deploy.proxies import CADDY, HAPROXY, NAMES, NGINX, Proxy, running_proxy, wait_until
from tests.processes import Service, free_port, running
from tests.world import Wallet, picture, problem

from imprint.settings import SETTINGS
from imprint.web.http.requests import ESCAPED, MAX_QUERY, SMALL_BODY

pytestmark = pytest.mark.rotates("proxy")

MAX_CONTENT = 4 * 1024 * 1024
MAX_IMAGE = 5 * 1024 * 1024
LARGEST_BODY = ESCAPED * MAX_CONTENT + SMALL_BODY
LARGEST_FORM = MAX_IMAGE + SMALL_BODY

OWN_HEADERS = {
    *("alt-svc", "connection", "date", "server", "strict-transport-security", "x-request-id"),
    *("content-encoding", "content-length", "transfer-encoding"),
}
"""Headers that a proxy may set, and the request id, which always differs."""


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    given = {
        "DEV_RPC_PORT": str(free_port()),
        "CHAIN_FOLLOW_SECONDS": "0",
        "METRICS_PORT": str(free_port()),
        "TRUSTED_PROXIES": "127.0.0.1",
    }
    with running(Service(tmp_path_factory.mktemp("dev"), given, "dev")) as opened:
        yield opened


@pytest.fixture(scope="module", params=NAMES)
def proxy(
    request: pytest.FixtureRequest, service: Service, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Proxy]:
    folder = tmp_path_factory.mktemp(request.param)
    with running_proxy(Proxy(request.param, folder, service.port)) as opened:
        yield opened


@pytest.fixture
def client(proxy: Proxy) -> Iterator[httpx2.Client]:
    with proxy.client() as opened:
        yield opened


@pytest.fixture
def direct(service: Service) -> Iterator[httpx2.Client]:
    """A client that uses the service without a proxy."""
    with httpx2.Client(base_url=service.url, timeout=60) as opened:
        yield opened


@pytest.fixture(scope="module")
def wallet() -> Wallet:
    return Wallet(Account.create(), PresentClock())


def create(client: httpx2.Client, wallet: Wallet, content: str = "Some words.") -> str:
    """Create a draft and return its CID."""
    response = client.post("/create/group", json=wallet.sign("create") | {"content": content})
    assert response.status_code == 200, response.text
    return str(response.json()["updatedUpload"]["cid"])


def publish(client: httpx2.Client, wallet: Wallet, cid: str, image: bytes) -> httpx2.Response:
    signed = wallet.sign("publish")
    form = {**signed, "salt": json.dumps(signed["salt"]), "hashtags": ""}
    return client.post(
        "/publish/file", params={"cid": cid}, data=form, files={"file": ("cover.png", image)}
    )


def visible(response: httpx2.Response) -> dict[str, Any]:
    """Return the visible parts of a response, without the time and headers a proxy may set."""
    kept = [(name, value) for name, value in response.headers.multi_items() if name != "vary"]
    vary = set(re.split(r", *", response.headers.get("vary", ""))) - {"", "Accept-Encoding"}
    return {
        "status": response.status_code,
        "body": re.sub(rb'"now":\d+}$', b"", response.content),
        "vary": vary,
        "headers": sorted(each for each in kept if each[0] not in OWN_HEADERS),
    }


# The files


def test_every_setting_named_in_a_file_exists() -> None:
    variables = {"IMPRINT_SITE_ADDRESS", "IMPRINT_UPSTREAM", "IMPRINT_CERTIFICATE"}
    known = {each.name for each in SETTINGS} | variables
    known |= {"IMPRINT_HTTP_PORT", "IMPRINT_HTTPS_PORT"}
    for file in (NGINX, CADDY, HAPROXY):
        assert set(re.findall(r"IMPRINT_[A-Z_]+", file.read_text("utf-8"))) <= known


@pytest.mark.parametrize("name", NAMES)
def test_the_config_check_of_the_proxy_reports_no_warnings(name: str, tmp_path: Path) -> None:
    proxy = Proxy(name, tmp_path, 8000)
    commands = {
        "nginx": [*proxy.process.command, "-t"],
        "caddy": ["caddy", "validate", *proxy.process.command[2:]],
        "haproxy": [*proxy.process.command, "-c"],
    }
    done = subprocess.run(
        commands[name],
        env={**os.environ, **proxy.process.environ},
        capture_output=True,
        text=True,
        check=False,
    )
    said = (done.stdout + done.stderr).lower()
    assert done.returncode == 0, said
    assert not re.search(r"\[warn|warning|\"level\":\"warn", said), said


def test_the_caddyfile_is_formatted() -> None:
    done = subprocess.run(["caddy", "fmt", str(CADDY)], capture_output=True, text=True, check=True)
    assert done.stdout == CADDY.read_text("utf-8")


# The client suite


def test_wallet_libraries_work_through_the_proxy(proxy: Proxy, service: Service) -> None:
    assert shutil.which("node"), "needs Node: run `make test-deploy`"
    environ = {
        **os.environ,
        "SERVICE_URL": proxy.url,
        "NODE_EXTRA_CA_CERTS": str(proxy.authority),
    }
    done = subprocess.run(
        ["node", "--test", "--test-reporter=spec", *SUITES],
        cwd=CLIENTS,
        env=environ,
        timeout=250,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if done.returncode:
        said = f"{done.stdout}\n\n{proxy.process.tail()}\n\n{service.tail()}"
        pytest.fail(said, pytrace=False)
    assert "ℹ fail 0" in done.stdout
    assert "ℹ pass 0" not in done.stdout


# Bodies


def escaped_body(wallet: Wallet, size: int) -> bytes:
    """Build a create request of `size` bytes: content of maximum size, all characters escaped."""
    signed = json.dumps(wallet.sign("create"))
    content = b"\\u0061" * MAX_CONTENT
    body = signed.removesuffix("}").encode() + b', "content": "' + content + b'"}'
    return body + b" " * (size - len(body))


@pytest.mark.parametrize("is_chunked", [False, True], ids=["with a length", "chunked"])
def test_the_largest_body_passes_and_a_larger_one_is_refused_by_the_service(
    client: httpx2.Client, wallet: Wallet, is_chunked: bool
) -> None:
    def send(size: int) -> httpx2.Response:
        body = escaped_body(wallet, size)
        assert len(body) == size
        pieces = (body[at : at + 65536] for at in range(0, size, 65536))
        headers = {"Content-Type": "application/json"}
        return client.post("/create/group", content=pieces if is_chunked else body, headers=headers)

    created = send(LARGEST_BODY)
    assert created.status_code == 200, created.text
    assert created.json()["updatedUpload"]["size"] >= MAX_CONTENT
    refused = send(LARGEST_BODY + 1)
    assert problem(refused) == (413, "too_large")
    assert str(LARGEST_BODY) in refused.json()["detail"]


def test_the_largest_body_passes_over_http_2(proxy: Proxy, wallet: Wallet, tmp_path: Path) -> None:
    file = tmp_path / "body.json"
    file.write_bytes(escaped_body(wallet, LARGEST_BODY))
    done = subprocess.run(
        [
            *("curl", "--silent", "--show-error", "--http2", "--cacert", str(proxy.authority)),
            *("--header", "Content-Type: application/json", "--data-binary", f"@{file}"),
            *("--output", "/dev/null", "--write-out", "%{http_code} %{http_version}"),
            f"{proxy.url}/create/group",
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout == "200 2", done.stderr


def test_content_of_four_mebibytes_is_read_back(client: httpx2.Client, wallet: Wallet) -> None:
    content = "Words. " * (MAX_CONTENT // 7)
    cid = create(client, wallet, content)
    message = wallet.login_message("localhost:8000")
    token = client.post("/auth/login", json=wallet.sign_login(message)).json()["token"]
    read = client.get(
        "/fileByCid", params={"cid": cid}, headers={"Authorization": f"Bearer {token}"}
    )
    assert read.status_code == 200, read.text
    assert read.json()["content"] == content


def test_a_body_far_above_every_limit_gets_problem_json(
    proxy: Proxy,
) -> None:
    head = (
        "POST /create/group HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1073741824\r\n"
        "Content-Type: application/json\r\n\r\n"
    )
    status, refusal = proxy.exchange(head.encode())
    assert (status, refusal["code"]) == (413, "too_large")


def large_picture(size: int) -> bytes:
    """Create a PNG of `size` bytes, most of them in a chunk that decoders skip."""
    small = picture()
    kind = b"prVt"
    data = bytes(size - len(small) - 12)
    chunk = struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    return small[:-12] + chunk + small[-12:]


def test_the_largest_thumbnail_passes_and_the_service_refuses_a_larger_one(
    client: httpx2.Client, wallet: Wallet
) -> None:
    cid = create(client, wallet)
    refused = publish(client, wallet, cid, large_picture(MAX_IMAGE + 1))
    assert problem(refused) == (413, "too_large")
    published = publish(client, wallet, cid, large_picture(MAX_IMAGE))
    assert published.status_code == 200, published.text


def test_a_form_above_the_limit_is_refused_by_the_service(
    client: httpx2.Client, wallet: Wallet
) -> None:
    refused = publish(client, wallet, create(client, wallet), bytes(LARGEST_FORM))
    assert problem(refused) == (413, "too_large")
    assert str(MAX_IMAGE) in refused.json()["detail"]


# Responses


@pytest.fixture(scope="module")
def thumbnail(service: Service, wallet: Wallet) -> str:
    with httpx2.Client(base_url=service.url) as direct:
        published = publish(direct, wallet, create(direct, wallet), large_picture(300_000))
    assert published.status_code == 200, published.text
    return str(published.json()["thumbnailCid"])


@pytest.mark.parametrize("method", ["GET", "HEAD"])
@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Range": "bytes=5-99"},
        {"Range": "bytes=-7"},
        {"Range": "bytes=99999999-"},
        {"If-None-Match": "*"},
        {"Accept": "application/vnd.ipld.car"},
        {"Accept": "application/vnd.ipld.raw", "Origin": "https://app.example"},
    ],
    ids=lambda headers: " ".join(headers.values()) or "plain",
)
def test_a_gateway_document_passes_unchanged(
    client: httpx2.Client,
    direct: httpx2.Client,
    thumbnail: str,
    method: str,
    headers: dict[str, str],
) -> None:
    path = f"/ipfs/{thumbnail}"
    through = client.request(method, path, headers=headers)
    bare = direct.request(method, path, headers=headers)
    assert visible(through) == visible(bare)
    assert through.headers.get("content-length") == bare.headers.get("content-length")


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/nothing"),
        ("GET", "/metrics"),
        ("GET", "/fileByCid?cid=nonsense"),
        ("POST", "/filesMetaData"),
        ("POST", "/auth/login"),
        ("GET", "/ipfs/%2e%2e%2fsecret"),
        ("GET", "/.well-known/imprint.json"),
        ("GET", "/filesByTags?tags=a%2Cb%20c"),
        ("GET", "/healthz"),
        ("GET", "/readyz"),
        ("GET", "/docs"),
        ("GET", "/openapi.json"),
    ],
)
def test_a_response_passes_unchanged(
    client: httpx2.Client, direct: httpx2.Client, method: str, path: str
) -> None:
    assert visible(client.request(method, path)) == visible(direct.request(method, path))


def test_metrics_are_not_exposed(client: httpx2.Client) -> None:
    assert problem(client.get("/metrics")) == (404, "not_found")


def test_a_preflight_passes_unchanged(client: httpx2.Client, direct: httpx2.Client) -> None:
    headers = {
        "Origin": "https://app.example",
        "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Headers": "content-type,authorization",
    }
    through = client.options("/create/group", headers=headers)
    assert through.headers["access-control-allow-origin"]
    assert visible(through) == visible(direct.options("/create/group", headers=headers))


def test_no_response_header_is_repeated(client: httpx2.Client) -> None:
    names = [name for name, _ in client.get("/healthz").headers.multi_items() if name != "vary"]
    assert len(set(names)) == len(names)


def test_a_request_id_passes_in_both_directions(
    client: httpx2.Client, proxy: Proxy, service: Service
) -> None:
    given = f"through-{proxy.name}"
    response = client.get("/filesMetaData", headers={"X-Request-Id": given})
    assert response.headers["x-request-id"] == given
    wait_until(lambda: given in service.process.log.read_text("utf-8"))


def test_json_is_compressed_and_its_etag_still_matches(
    client: httpx2.Client, wallet: Wallet
) -> None:
    cid = create(client, wallet, "Words. " * 2000)
    message = wallet.login_message("localhost:8000")
    token = client.post("/auth/login", json=wallet.sign_login(message)).json()["token"]
    headers = {"Authorization": f"Bearer {token}", "Accept-Encoding": "gzip"}
    read = client.get("/fileByCid", params={"cid": cid}, headers=headers)
    assert read.headers["content-encoding"] == "gzip"
    assert "Accept-Encoding" in read.headers["vary"]
    assert read.json()["content"] == "Words. " * 2000
    headers["If-None-Match"] = read.headers["etag"]
    assert client.get("/fileByCid", params={"cid": cid}, headers=headers).status_code == 304


def test_a_query_of_the_maximum_length_passes(client: httpx2.Client, direct: httpx2.Client) -> None:
    for size in (MAX_QUERY, MAX_QUERY + 1):
        path = "/filesByTags?tags=" + "a" * (size - len("tags="))
        refused = client.get(path)
        assert problem(refused) == (400, "invalid_tags")
        assert refused.content == direct.get(path).content


# TLS


def test_plain_http_is_redirected_with_the_method_preserved(proxy: Proxy) -> None:
    refused = httpx2.post(f"{proxy.plain_url}/create/group?a=b", content=b"{}")
    assert refused.status_code == 308
    location = httpx2.URL(refused.headers["location"])
    assert (location.scheme, location.host) == ("https", "localhost")
    assert location.raw_path == b"/create/group?a=b"


def test_browsers_are_instructed_to_keep_using_tls(client: httpx2.Client) -> None:
    for path in ("/healthz", "/nothing"):
        assert client.get(path).headers["strict-transport-security"] == "max-age=31536000"


def test_clients_get_http_2_and_at_least_tls_1_2(proxy: Proxy) -> None:
    with proxy.connection("h2", "http/1.1") as opened:
        assert opened.selected_alpn_protocol() == "h2"
        assert opened.version() in ("TLSv1.2", "TLSv1.3")


# The end


def test_the_proxy_logs_contain_no_queries_or_sessions(proxy: Proxy) -> None:
    with proxy.client() as client:
        query = {"next_page_token": "seen-by-nobody"}
        client.get(
            "/filesByNextPageToken", params=query, headers={"Authorization": "Bearer hidden"}
        )
        # A token is also secret in a malformed address.
        client.get("/elsewhere/feeds/private/seen-by-nobody.atom")
        for spelled in ("/FEEDS/Private", "/feeds/%70rivate", "/feeds/%2570rivate"):
            client.get(f"{spelled}/seen-by-nobody.atom")
        client.get("/feeds/private/seen-by-nobody.atom", params={"a": "seen-by-nobody"})
        client.get("/the-last-one")
    wait_until(lambda: "/the-last-one" in proxy.log)
    assert "filesByNextPageToken" in proxy.log
    assert proxy.log.count("/feeds/private/") >= 2
    assert "seen-by-nobody" not in proxy.log
    assert "hidden" not in proxy.log


def test_the_service_logged_no_server_error(service: Service) -> None:
    log = service.process.log.read_text(encoding="utf-8")
    assert "status=200" in log
    assert "status=500" not in log
    assert "Traceback" not in log
