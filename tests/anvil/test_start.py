"""How `imprint serve` starts, refuses to start, stops, and starts again."""

from collections.abc import Callable

import pytest
from eth_account.signers.local import LocalAccount
from tests.anvil.client import Client
from tests.anvil.conftest import MakeService
from tests.anvil.node import Anvil
from tests.processes import Service, free_port

MISCONFIGURED = 2


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"CHAIN_ID": "1"}, "The node is on chain 31337, but chain 1 is configured."),
        (
            {"MARKETPLACE_ADDRESS": "0x" + "ab" * 20},
            f"There is no contract at 0x{'ab' * 20} on chain 31337.",
        ),
        ({"JWT_SECRET": "imprint-development-only-jwt-4f1b7c09e2"}, "IMPRINT_JWT_SECRET"),
    ],
    ids=["chain", "contract", "public-secret"],
)
def test_wrong_settings_are_reported_and_nothing_starts(
    make_service: MakeService, given: dict[str, str], sentence: str
) -> None:
    service = make_service(**given)
    service.process.spawn()
    assert service.process.wait() == MISCONFIGURED
    assert sentence in service.tail()
    assert "Traceback" not in service.tail()


def test_the_service_starts_without_a_responding_node(
    make_service: MakeService, open_client: Callable[[Service], Client], alice: LocalAccount
) -> None:
    service = make_service(CHAIN_RPC_URL=f"http://127.0.0.1:{free_port()}")
    service.start()
    assert open_client(service).create(alice)["keyvalues"]["status"] == "pending"


@pytest.mark.parametrize("end", [Service.stop, Service.kill], ids=["stopped", "killed"])
def test_a_restarted_service_continues_where_it_was(
    anvil: Anvil,
    client: Client,
    service: Service,
    alice: LocalAccount,
    end: Callable[[Service], object],
) -> None:
    post_id, _ = client.post(anvil, alice, "Words for all.", price=0)
    session = client.log_in(alice)
    draft = client.create(alice, "Not yet.")
    end(service)
    service.start()
    assert client.read_free(post_id).json()["content"] == "Words for all."
    kept = client.http.get("/fileByCid", params={"cid": draft["cid"]}, headers=session)
    assert kept.json()["content"] == "Not yet."


def test_a_terminated_service_exits_cleanly(service: Service) -> None:
    assert service.stop() == 0


def test_secrets_and_sessions_are_not_in_the_log(
    anvil: Anvil, client: Client, service: Service, alice: LocalAccount
) -> None:
    client.post(anvil, alice)
    session = client.log_in(alice)["Authorization"].removeprefix("Bearer ")
    service.stop()
    log = service.process.log.read_text(encoding="utf-8")
    hidden = [
        service.given[name] for name in ("JWT_SECRET", "WEBHOOK_A_SECRET", "WEBHOOK_B_SECRET")
    ]
    assert "/auth/login" in log
    assert [text for text in (*hidden, session) if text in log] == []
