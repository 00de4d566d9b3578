"""The index of a large marketplace on a real node, checked against the contract and viem."""

import json
import os
import sqlite3
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import closing
from itertools import count
from pathlib import Path
from random import Random
from typing import Any

import httpx2
import pytest
from eth_abi.abi import encode
from tests.anvil.conftest import MakeService
from tests.anvil.node import GAS_PRICE, Anvil, running
from tests.processes import PLAIN

from imprint.domain.formats.addresses import keccak256

LONG = bool(os.environ.get("LONG"))
POSTS, TRADES = (2_000, 20_000) if LONG else (300, 3_000)
ACCOUNTS = 30
CALLS_PER_BLOCK = 500
SUMS = Path(__file__).parent / "market_sums.mjs"

Call = tuple[str, bytes, int]
"""A transaction's sender, data and value."""


@pytest.fixture
def anvil(tmp_path: Path, artifact: dict[str, Any]) -> Iterator[Anvil]:
    """A chain with many unlocked accounts, and room for many transactions per block."""
    with running(
        Anvil(tmp_path, ["--gas-limit", "2000000000", "--accounts", str(ACCOUNTS)]), artifact
    ) as node:
        yield node


def call(name: str, kinds: list[str], *values: object) -> bytes:
    return keccak256(f"{name}({','.join(kinds)})".encode())[:4] + encode(kinds, values)


def mine_calls(anvil: Anvil, calls: Sequence[Call]) -> None:
    """Mine one block with these transactions, in an order chosen by the node."""
    senders = {sender for sender, _, _ in calls}
    nonces = {
        sender: count(int(anvil.rpc("eth_getTransactionCount", sender, "latest"), 16))
        for sender in senders
    }
    batch = [
        {
            "jsonrpc": "2.0",
            "id": number,
            "method": "eth_sendTransaction",
            "params": [
                {
                    "from": sender,
                    "to": anvil.marketplace,
                    "data": "0x" + data.hex(),
                    "value": hex(value),
                    "nonce": hex(next(nonces[sender])),
                    "gas": hex(800_000),
                    "gasPrice": hex(GAS_PRICE),
                }
            ],
        }
        for number, (sender, data, value) in enumerate(calls)
    ]
    responses = httpx2.post(anvil.url, json=batch, timeout=60, verify=PLAIN).json()
    assert not [each for each in responses if "error" in each]
    anvil.rpc("evm_mine")


class Traders:
    """Builds transactions that succeed in any order. Each post is traded at most once per block."""

    def __init__(self, accounts: Sequence[str], random: Random) -> None:
        self.accounts, self.random = accounts, random
        self.authors: dict[int, str] = {}
        self.prices: dict[int, int] = {}
        self.balances: dict[tuple[str, int], int] = defaultdict(int)

    def publish(self, posts: int) -> list[Call]:
        calls = []
        for _ in range(posts):
            number = len(self.authors) + 1
            author, price = self.random.choice(self.accounts), self.random.choice([0, 1, 10**9])
            self.authors[number], self.prices[number] = author, price
            parts = "(string,string,string,string,uint256,string[])"
            texts = (f"cid {number}", f"Title {number}", "thumb", f"About {number} ✓")
            post = (*texts, price, ["law"])
            calls.append((author, call("createPost", [parts], post), 0))
        return calls

    def trade(self, trades: int) -> list[Call]:
        calls: list[Call] = []
        touched: set[int] = set()
        while len(calls) < trades:
            post = self.random.randint(1, len(self.authors))
            account = self.random.choice(self.accounts)
            if post in touched:
                continue
            touched.add(post)
            if self.balances[account, post]:
                receiver = self.random.choice(self.accounts)
                self.balances[account, post] -= 1
                self.balances[receiver, post] += 1
                kinds = ["address", "uint256", "uint256"]
                calls.append((account, call("transfer", kinds, receiver, post, 1), 0))
            elif account != self.authors[post]:
                self.balances[account, post] += 1
                data = call("subscribePost", ["uint256"], post)
                calls.append((account, data, self.prices[post]))
        return calls


def fill(anvil: Anvil) -> int:
    """Publish, buy and transfer, and return the number of transactions."""
    accounts = [each.lower() for each in anvil.rpc("eth_accounts")]
    assert len(accounts) == ACCOUNTS
    traders = Traders(accounts, Random(12))
    anvil.rpc("evm_setAutomine", False)
    sent = 0
    for start in range(0, POSTS, 100):
        calls = traders.publish(min(100, POSTS - start))
        mine_calls(anvil, calls)
        sent += len(calls)
    # The id of a post is known only now: transactions of a block may be in any order.
    traders.authors, traders.prices = read_posts(anvil)
    while sent < POSTS + TRADES:
        calls = traders.trade(min(CALLS_PER_BLOCK, POSTS // 2, POSTS + TRADES - sent))
        mine_calls(anvil, calls)
        sent += len(calls)
    anvil.rpc("evm_setAutomine", True)
    return sent


def read_posts(anvil: Anvil) -> tuple[dict[int, str], dict[int, int]]:
    created = "0x" + keccak256(b"PostCreated(uint256,string,string,string,address,uint256)").hex()
    wanted = {"address": anvil.marketplace, "fromBlock": "0x0", "topics": [created]}
    logs = anvil.rpc("eth_getLogs", wanted)
    authors = {int(log["topics"][1], 16): "0x" + log["topics"][2][-40:] for log in logs}
    fourth = slice(2 + 3 * 64, 2 + 4 * 64)
    prices = {int(log["topics"][1], 16): int(log["data"][fourth], 16) for log in logs}
    return authors, prices


def sum_logs(anvil: Anvil) -> dict[str, Any]:
    """Return the sums viem computes from the logs, and the balances from the contract."""
    result = subprocess.run(
        ["node", str(SUMS), anvil.url, anvil.marketplace],
        input=json.dumps(list(anvil.abi)),
        capture_output=True,
        text=True,
        check=True,
    )
    return dict(json.loads(result.stdout))


@pytest.mark.timeout(1_200)
def test_a_large_marketplace_is_indexed_from_block_0_in_one_command(
    anvil: Anvil, make_service: MakeService, tmp_path: Path
) -> None:
    sent = fill(anvil)
    service = make_service()
    imprint = [sys.executable, "-m", "imprint"]
    command = [*imprint, "reconcile", "--from-block", "0"]
    environ = os.environ | service.process.environ
    subprocess.run([*imprint, "upgrade"], env=environ, capture_output=True, check=True)
    began = time.monotonic()
    printed = subprocess.run(command, env=environ, capture_output=True, text=True, check=False)
    seconds = time.monotonic() - began
    assert printed.returncode == 0, printed.stderr
    assert f"The index of posts is rebuilt up to block {anvil.height}." in printed.stdout
    found = sum_logs(anvil)
    print(f"\n{sent} transactions, {found['logs']} logs: one command took {seconds:.1f} s")
    with closing(sqlite3.connect(tmp_path / "data" / "imprint.db")) as database:
        assert_equal(database, found)


def assert_equal(database: sqlite3.Connection, found: dict[str, Any]) -> None:
    def table(text: str) -> dict[Any, Any]:
        return {row[0]: row[1] for row in database.execute(text)}

    held = table("SELECT holder || ' ' || post_id, balance FROM holdings")
    assert len(found["balances"]) > POSTS
    for key, balance in found["balances"].items():
        assert held.pop(key, "0") == balance == found["moved"][key], key
    assert not [key for key, balance in held.items() if balance != "0"]
    assert table("SELECT post_id, author FROM posts") == found["posts"]
    assert len(found["posts"]) == POSTS
    sold = "FROM posts WHERE sales > 0"
    assert table(f"SELECT post_id, CAST(sales AS TEXT) {sold}") == found["sales"]
    assert table(f"SELECT post_id, volume {sold}") == found["volume"]
    spent = table("SELECT address, spent FROM accounts WHERE purchases > 0")
    assert spent == found["spent"]
    readers = {key.split()[0] for key, balance in found["balances"].items() if balance != "0"}
    totals = database.execute("SELECT posts, sales, volume, readers FROM market_totals").fetchone()
    volume = sum(map(int, found["volume"].values()))
    assert totals == (POSTS, found["purchases"], str(volume), len(readers))
    prices = {
        post_id: str(int.from_bytes(price))
        for post_id, price in database.execute("SELECT post_id, price FROM posts")
    }
    assert prices == found["prices"]
    (described,) = database.execute(
        "SELECT count(*) FROM posts WHERE CAST(description AS TEXT) LIKE 'About % ✓'"
    ).fetchone()
    assert described == POSTS
