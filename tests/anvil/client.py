"""Clients of a running service: writers, readers and providers."""

import json
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import httpx2
from eth_account.signers.local import LocalAccount
from tests.anvil.deliveries import deliver_a, deliver_b
from tests.anvil.node import Anvil, Receipt
from tests.processes import PLAIN
from tests.world import MovableClock, Wallet, picture

from imprint.devchain.webhooks import SignedDelivery

LOGIN_DOMAIN = "app.example"
"""The domain of the web app that readers log in to."""


class RunningClock(MovableClock):
    """The system clock, which the service also uses."""

    def now(self) -> datetime:
        return datetime.now(UTC)

    def __call__(self) -> datetime:
        return self.now()

    @property
    def seconds(self) -> int:
        return int(self.now().timestamp())


@dataclass(slots=True)
class Client:
    """Shortcuts for requests to a service."""

    url: str
    secret_a: str
    secret_b: str
    http: httpx2.Client = field(init=False)

    def __post_init__(self) -> None:
        # A kept-alive connection would delay the shutdown of a service.
        once = httpx2.Limits(max_keepalive_connections=0)
        self.http = httpx2.Client(base_url=self.url, timeout=10, limits=once, verify=PLAIN)

    def log_in(self, account: LocalAccount) -> dict[str, str]:
        """Log in and return the headers of the session."""
        wallet = Wallet(account, RunningClock())
        body = wallet.sign_login(wallet.login_message(LOGIN_DOMAIN))
        session = _json(self.http.post("/auth/login", json=body))["token"]
        return {"Authorization": f"Bearer {session}"}

    def sign(self, account: LocalAccount, action: str) -> dict[str, Any]:
        return Wallet(account, RunningClock()).sign(action)

    def create(self, account: LocalAccount, content: str = "Some words.") -> dict[str, Any]:
        body = self.sign(account, "create") | {"content": content}
        return dict(_json(self.http.post("/create/group", json=body))["updatedUpload"])

    def update(self, account: LocalAccount, cid: str, content: str) -> dict[str, Any]:
        body = self.sign(account, "update") | {"content": content}
        response = self.http.post("/update/file", params={"cid": cid}, json=body)
        return dict(_json(response)["upload"])

    def publish(self, account: LocalAccount, cid: str, hashtags: str = "") -> str:
        fields = self.sign(account, "publish") | {"hashtags": hashtags}
        fields["salt"] = json.dumps(fields["salt"])
        image = {"file": ("cover.png", picture(), "image/png")}
        response = self.http.post("/publish/file", params={"cid": cid}, data=fields, files=image)
        return str(_json(response)["thumbnailCid"])

    def read_post(
        self, account: LocalAccount, post_id: int, session: dict[str, str] | None = None
    ) -> httpx2.Response:
        wanted = {"user": account.address, "postId": str(post_id)}
        headers = self.log_in(account) if session is None else session
        return self.http.get("/fileByPostId", params=wanted, headers=headers)

    def read_free(self, post_id: int) -> httpx2.Response:
        return self.http.get("/freeFileByPostId", params={"postId": str(post_id)})

    def metadata(self, cid: str) -> dict[str, Any]:
        """Return the public record of a file by its CID."""
        (file,) = _json(self.http.get("/filesMetaData", params={"cid": cid}))["files"]
        return dict(file)

    def status(self, cid: str) -> str:
        return str(self.metadata(cid)["keyvalues"]["status"])

    def deliver(self, receipt: Receipt, provider: str = "a", compress: bool = False) -> Any:
        """Send a transaction's webhook delivery to the service and return the response."""
        if provider == "a":
            signed = deliver_a(receipt, self.secret_a)
        else:
            signed = deliver_b(receipt, self.secret_b, compress)
        return _json(self.send(signed, provider))

    def send(self, signed: SignedDelivery, provider: str) -> httpx2.Response:
        path = f"/webhook/provider-{provider}/publish"
        return self.http.post(path, content=signed.body, headers=dict(signed.headers))

    def post(
        self, anvil: Anvil, author: LocalAccount, content: str = "Words for sale.", **given: Any
    ) -> tuple[int, dict[str, Any]]:
        """Publish a post, deliver its event to the service, and return its id and its file."""
        file = self.create(author, content)
        said = self.deliver(anvil.create_post(author, file["cid"], **given))
        (event,) = said["events"]
        assert event["status"] == "onchain", said
        return int(event["postId"]), file


def _json(response: httpx2.Response) -> Any:
    assert response.status_code == 200, response.text
    return response.json()
