"""The scenario that every client must pass, in the vocabulary of clients/scenario.json."""

import asyncio
import json
import re
import secrets
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from tests.client.interface import described, snake_case
from tests.processes import Service

from imprint.client import (
    Call,
    Imprint,
    KeyWallet,
    Listing,
    MemoryKeyStore,
    Node,
    Refusal,
    WritingSession,
    balance_of,
    buy_many_call,
    buy_post_call,
    change_price_call,
    create_post_call,
    created_post_id,
    format_coin,
    parse_coin,
    verify_document,
    wait_for_receipt,
)
from imprint.devchain.transactions import Wallet as DevelopmentKeys
from imprint.interface.codec import encode_json

ROOT = Path(__file__).parents[2]
SCENARIO = json.loads((ROOT / "clients" / "scenario.json").read_text(encoding="utf-8"))
SIGNED_CALLS = (
    *("login", "createDraft", "updateDraft", "publishDraft", "deleteDraft", "updateProfile"),
    "revisePost",
)
"""Calls whose first argument is the wallet."""
COVER = (ROOT / "examples" / "viem" / "cover.png").read_bytes()
ATTEMPTS = 150
AMOUNTS = {"price", "min_price", "max_price"}


def development_key(index: int) -> bytes:
    keys = DevelopmentKeys()
    return bytes(keys._find(keys.addresses[index]).key)


@dataclass(slots=True)
class Person:
    """A user with a wallet, a client and, once opened, a writing session."""

    client: Imprint
    wallet: KeyWallet
    writing: WritingSession | None = None
    keys: MemoryKeyStore = field(default_factory=MemoryKeyStore)


@dataclass(slots=True)
class Runner:
    """Runs the steps one after another and stores the values they save."""

    nobody: Imprint
    node: Node
    people: dict[str, Person]
    saved: dict[str, Any]

    async def run(self, step: dict[str, Any]) -> None:
        if "refused" in step:
            with pytest.raises(Refusal) as refused:
                await self._call(step)
            assert refused.value.code == step["refused"], step["step"]
            return
        for _ in range(ATTEMPTS if step.get("eventually") else 0):
            try:
                await self._attempt(step)
            except (AssertionError, Refusal):
                await asyncio.sleep(0.1)
            else:
                return
        await self._attempt(step)

    async def _attempt(self, step: dict[str, Any]) -> None:
        result = await self._call(step)
        for path, wanted in step.get("expect", {}).items():
            found = find(result, path)
            if isinstance(wanted, dict):
                assert re.search(wanted["matches"], found), (step["step"], path, found)
            else:
                assert found == self._fill(wanted), (step["step"], path)
        for name, path in step.get("save", {}).items():
            self.saved[name] = find(result, path)

    def _fill(self, value: Any) -> Any:
        if isinstance(value, str) and value.startswith("$"):
            return self.saved[value[1:]]
        return value

    async def _call(self, step: dict[str, Any]) -> Any:
        given = {
            snake_case(name): self._fill(value) for name, value in step.get("with", {}).items()
        }
        given |= {name: int(given[name]) for name in AMOUNTS & given.keys()}
        given |= dict.fromkeys({"thumbnail", "avatar"} & given.keys(), COVER)
        person = self.people.get(step.get("as", ""))
        client = person.client if person else self.nobody
        if "form" in step:
            session = client.session
            client = Imprint(client.url, client.facts, form=step["form"], http=self.nobody.http)
            client.session = session
        return await self._result(step, person, client, given)

    async def _result(
        self, step: dict[str, Any], person: Person | None, client: Imprint, given: dict[str, Any]
    ) -> Any:
        call = step["call"]
        if (own := getattr(self, f"_{snake_case(call)}", None)) is not None:
            return plain(await own(person, client, given))
        method = getattr(client, snake_case(call))
        signed = call in SIGNED_CALLS
        signer = None
        if signed and person:
            signer = person.writing if step.get("signer") else person.wallet
        made = method(signer, **given) if signed else method(**given)
        if not isinstance(made, Listing):
            return plain(await made)
        pages = [page.items async for page in made.pages()]
        items = [item for page in pages for item in page]
        assert [item async for item in made] == items
        return {"items": plain(items), "pages": len(pages)}

    async def _open_writing_session(self, person: Person, client: Imprint, given: Any) -> Any:
        opened = await client.open_writing_session(person.wallet, key_store=person.keys, **given)
        person.writing = opened
        assert client.resume_writing_session(person.wallet.address, person.keys) == opened
        return opened.record

    async def _save_draft(self, person: Person, client: Imprint, given: Any) -> Any:
        assert person.writing is not None
        return await client.save_draft(person.writing, **given)

    async def _create_post(self, person: Person, client: Imprint, given: Any) -> Any:
        return await self._transact(person, create_post_call(client.marketplace, **given))

    async def _buy_post(self, person: Person, client: Imprint, given: Any) -> Any:
        return await self._transact(person, buy_post_call(client.marketplace, **given))

    async def _give_post(self, person: Person, client: Imprint, given: Any) -> Any:
        adapter = client.facts.chain.adapter
        assert adapter is not None
        call = buy_many_call(adapter, [given["post_id"]], given["receiver"], given["price"])
        return await self._transact(person, call)

    async def _change_price(self, person: Person, client: Imprint, given: Any) -> Any:
        return await self._transact(person, change_price_call(client.marketplace, **given))

    async def _transact(self, person: Person, call: Call) -> dict[str, Any]:
        receipt = await wait_for_receipt(self.node, await person.wallet.send_transaction(call))
        return {"status": receipt.status, "postId": created_post_id(receipt, call.to)}

    async def _balance_of(self, person: Person, client: Imprint, given: Any) -> str:
        address = person.wallet.address
        return str(await balance_of(self.node, client.marketplace, address, **given))

    async def _verify_document(self, _: Any, client: Imprint, given: Any) -> dict[str, bool]:
        fetched = await client.fetch_document(**given)
        return {"verified": verify_document(fetched.data, given["cid"])}

    async def _get_private_feed_json(self, _: Any, client: Imprint, given: Any) -> Any:
        token = given["address"].rpartition("/")[2].removesuffix(".json")
        return await client.get_private_feed_json(token)

    async def _get_private_feed_atom(self, _: Any, client: Imprint, given: Any) -> str:
        token = given["address"].rpartition("/")[2].removesuffix(".atom")
        return await client.get_private_feed_atom(token)

    async def _format_coin(self, _: Any, __: Imprint, given: Any) -> str:
        return format_coin(**given)

    async def _parse_coin(self, _: Any, __: Imprint, given: Any) -> str:
        return str(parse_coin(**given))


def plain(value: Any) -> Any:
    """Convert a result back to plain JSON values."""
    return json.loads(encode_json(value))


def find(result: Any, path: str) -> Any:
    if not isinstance(result, dict | list):
        assert path == "value"
        return result
    for name in path.split("."):
        if name == "length":
            result = len(result)
        else:
            result = result[int(name)] if isinstance(result, list) else result[name]
    return result


def test_the_scenario_covers_every_operation():
    assert described() - {snake_case(step["call"]) for step in SCENARIO["steps"]} == set()


@pytest.mark.parametrize("records", ["sqlite", "postgresql"], indirect=True)
async def test_the_client_passes_the_scenario(service: Service, imprint: Imprint) -> None:
    node = imprint.node()
    people = {}
    for name, index in SCENARIO["people"].items():
        key = secrets.token_bytes(32) if index == "new" else development_key(index)
        people[name] = Person(imprint.beside(), KeyWallet(key, node))
    saved = {f"{name}.address": each.wallet.address.lower() for name, each in people.items()}
    runner = Runner(imprint, node, people, saved)
    for step in SCENARIO["steps"]:
        await runner.run(step)
    assert "Traceback" not in service.tail(1000)
