"""The x402 client from PyPI reads paid posts, with Imprint's scheme if it has to buy them."""

import asyncio
import json
import os
import subprocess
from typing import Any

import pytest
from tests.client.test_payments import PRICE, TEXT, make_post
from tests.clients.suites import HERE
from tests.processes import Service

from imprint.client import Imprint, KeyWallet, balance_of, buy_post_call, wait_for_receipt
from imprint.devchain.transactions import Wallet as DevelopmentKeys

PYTHON = HERE / ".venv" / "bin" / "python"


class Reader:
    """An account of the development chain, and a paid post that it can buy and read."""

    def __init__(self, service: Service, index: int) -> None:
        keys = DevelopmentKeys()
        self.key = "0x" + bytes(keys._find(keys.addresses[index]).key).hex()
        self.address = keys.addresses[index]
        self.service = service
        self.post_id = asyncio.run(self._make_post())

    async def _make_post(self) -> str:
        async with Imprint.connect(self.service.url) as imprint:
            return await make_post(imprint)

    def buy(self) -> None:
        async def send() -> None:
            async with Imprint.connect(self.service.url) as imprint:
                node = imprint.node()
                call = buy_post_call(imprint.marketplace, self.post_id, PRICE)
                sent = await KeyWallet(self.key, node).send_transaction(call)
                await wait_for_receipt(node, sent)

        asyncio.run(send())

    @property
    def balance(self) -> int:
        async def load() -> int:
            async with Imprint.connect(self.service.url) as imprint:
                marketplace, node = imprint.marketplace, imprint.node()
                return await balance_of(node, marketplace, self.address, self.post_id)

        return asyncio.run(load())

    def read(self, kind: str) -> dict[str, Any]:
        """Run the program, and return the JSON object that it prints."""
        command = [PYTHON, HERE / "x402_program.py", self.service.url, self.post_id, kind, self.key]
        environ = {"PATH": os.environ["PATH"], "PYTHONPATH": str(HERE.parents[1] / "src")}
        done = subprocess.run(
            command, env=environ, capture_output=True, text=True, timeout=100, check=False
        )
        assert done.returncode == 0, done.stderr + self.service.tail()
        said: dict[str, Any] = json.loads(done.stdout)
        return said


@pytest.fixture
def reader(service: Service) -> Reader:
    return Reader(service, 9)


def test_a_token_holder_can_read_with_the_unmodified_client(reader: Reader) -> None:
    reader.buy()
    assert reader.read("holder") == {"read": [[200, TEXT], [200, TEXT]], "paid": None}


def test_a_first_purchase_works_with_the_imprint_scheme_and_is_paid_once(reader: Reader) -> None:
    said = reader.read("buyer")
    assert said["read"] == [[200, TEXT], [200, TEXT]]
    assert said["paid"]["payer"] == reader.address.lower()
    assert said["paid"]["amount"] == str(PRICE)
    assert reader.balance == 1
    # A new process does not know of the purchase, so it asks the node.
    assert reader.read("buyer")["read"] == [[200, TEXT], [200, TEXT]]


@pytest.mark.parametrize(
    ("kind", "sentence"),
    [("refusing", "spend_controls"), ("limited", "at most 999999999999999 wei may be paid")],
)
def test_nothing_is_paid_without_permission_or_above_the_limit(
    reader: Reader, kind: str, sentence: str
) -> None:
    said = reader.read(kind)
    assert (said["read"], reader.balance) == ([], 0)
    assert sentence in said["refused"]
