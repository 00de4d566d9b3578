"""The commands on the docs page that sign a delivery, run in a shell."""

import os
import subprocess
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
from tests.processes import Service, free_port, running
from tests.web.described import DOCUMENT

from imprint.web.docs.page.commands import delivery_command

SECRETS = {"provider-a": "whsec-of-a-8f2c61d0b7", "provider-b": "whsec-of-b-13e9a75c44"}


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    given = {
        "DEV_RPC_PORT": str(free_port()),
        "WEBHOOK_A_SECRET": SECRETS["provider-a"],
        "WEBHOOK_B_SECRET": SECRETS["provider-b"],
    }
    with running(Service(tmp_path_factory.mktemp("dev"), given, "dev")) as started:
        yield started


def _run(service: Service, provider: str, secret: str) -> Any:
    path = f"/webhook/{provider}/publish"
    command = delivery_command(path, DOCUMENT["paths"][path]["post"])
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", command.replace("curl ", "curl --silent ", 1)],
        env={"PATH": os.environ["PATH"], "BASE": service.url, "SECRET": secret},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    return msgspec.json.decode(done.stdout)


@pytest.mark.parametrize("provider", SECRETS)
def test_a_delivery_signed_by_the_documented_commands_is_accepted(
    service: Service, provider: str
) -> None:
    # The example is about the marketplace of another service, so its log is ignored.
    response = _run(service, provider, SECRETS[provider])
    assert (response["success"], response["ignored"]) == (True, 1)


@pytest.mark.parametrize("provider", SECRETS)
def test_a_delivery_signed_with_another_secret_is_refused(service: Service, provider: str) -> None:
    assert _run(service, provider, "another-secret")["code"] == "webhook_signature_invalid"
