"""Proofs of posts over HTTP are created once the block is final, and checked with any node."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from tests.cli.installations import run
from tests.revisions import published_post
from tests.web.conftest import EVERY_DATABASE
from tests.world import World, open_world, problem

from imprint.domain.moderation import Ground, Measure, Target, TargetKind
from imprint.domain.posts.marketplace import POST_CREATED
from imprint.services.moderation import CurrentMeasures, Moderation

pytestmark = [*EVERY_DATABASE, pytest.mark.asyncio(loop_scope="module")]

DEPTH = 3


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shallow(tmp_path_factory: pytest.TempPathFactory, records: None) -> AsyncIterator[World]:
    """A world in which a block is final once a few more are mined."""
    folder = tmp_path_factory.mktemp("shallow")
    async with open_world(folder, CHAIN_REORG_DEPTH=str(DEPTH)) as opened:
        yield opened


async def finalize(world: World) -> None:
    """Mine until all existing blocks are final, and index them."""
    for _ in range(DEPTH + 1):
        world.chain.mine()
        await world.index()


async def _proof(world: World, post_id: int) -> dict[str, Any]:
    response = await world.client.get(f"/posts/{post_id}/proof.json")
    assert response.status_code == 200, response.text
    found: dict[str, Any] = response.json()
    return found


async def test_a_proof_names_the_log_once_its_block_is_final(shallow: World) -> None:
    author = shallow.wallet(1)
    post_id, cid = await published_post(shallow, author)
    path = f"/posts/{post_id}/proof.json"
    assert problem(await shallow.client.get(path)) == (409, "not_final")
    await finalize(shallow)
    proof = await _proof(shallow, post_id)
    post = (await shallow.client.get(f"/posts/{post_id}")).json()
    address = author.address.lower()
    assert proof == {
        "type": "imprint-proof-1",
        "id": str(post_id),
        "author": address,
        "cid": cid,
        "createdAt": post["createdAt"],
        "chainId": 31337,
        "log": {
            "address": shallow.marketplace.lower(),
            "topics": [
                f"0x{POST_CREATED.hex()}",
                f"0x{post_id:064x}",
                f"0x{address[2:]:0>64}",
            ],
            "index": proof["log"]["index"],
        },
        "transaction": post["transaction"],
        "block": post["block"],
    }
    again = await shallow.client.get(path)
    cached = await shallow.client.get(path, headers={"If-None-Match": again.headers["etag"]})
    assert cached.status_code == 304


async def test_a_block_that_a_reorg_replaced_is_not_proved(shallow: World) -> None:
    author = shallow.wallet(2)
    before = shallow.chain.snapshot()
    lost, _ = await published_post(shallow, author, "Lost.")
    shallow.chain.restore(before)
    shallow.chain.mine()
    shallow.chain.mine()
    await finalize(shallow)
    assert problem(await shallow.client.get(f"/posts/{lost}/proof.json")) == (404, "not_found")
    kept, cid = await published_post(shallow, author, "Kept.")
    assert kept == lost
    await finalize(shallow)
    assert (await _proof(shallow, kept))["cid"] == cid


async def test_unknown_posts_and_malformed_ids_are_refused(shallow: World) -> None:
    assert problem(await shallow.client.get("/posts/999/proof.json")) == (404, "not_found")
    assert problem(await shallow.client.get("/posts/x/proof.json")) == (400, "invalid_post_id")
    given = await shallow.client.get("/posts/1/proof.json", params={"format": "car"})
    assert problem(given) == (400, "invalid_request")


async def test_a_post_that_names_no_document_has_no_proof(shallow: World) -> None:
    entry = ("no cid", "Title", "no cid either", "About it", 0, [])
    shallow.create_post_with(shallow.wallet(3), entry)
    await shallow.index()
    await finalize(shallow)
    newest = (await shallow.client.get("/posts", params={"hosted": "any"})).json()["posts"][0]
    assert newest["cid"] == "no cid"
    response = await shallow.client.get(f"/posts/{newest['id']}/proof.json")
    assert problem(response) == (404, "not_found")


async def test_the_proof_and_the_document_of_a_withheld_post_are_refused(shallow: World) -> None:
    post_id, cid = await published_post(shallow, shallow.wallet(4), "Withheld.")
    await finalize(shallow)
    stores = shallow.adapters.stores
    desk = Moderation(
        stores.moderation,
        stores.index_reader,
        stores.files,
        stores.revisions,
        CurrentMeasures(stores.moderation),
        shallow.clock,
    )
    target = Target(TargetKind.POST, str(post_id))
    await desk.decide(target, Measure.WITHHELD, Ground.LEGAL, "A court order.")
    shallow.clock.advance(2)
    for path in (f"/posts/{post_id}/proof.json", f"/ipfs/{cid}", f"/ipfs/{cid}?format=car"):
        assert problem(await shallow.client.get(path)) == (451, "withheld")


# `imprint verify --proof`


async def _verify(world: World, proof: Path, *more: str | Path) -> tuple[int, str]:
    words = ("verify", "--proof", proof, "--rpc", world.node.url, *more)
    # The command runs its own event loop in a thread, while the node runs in this one.
    result = await asyncio.to_thread(run, {}, *words)
    return result.exit_code, result.output


async def _saved(world: World, post_id: int, folder: Path) -> Path:
    file = folder / "proof.json"
    file.write_text(json.dumps(await _proof(world, post_id)))
    return file


async def test_a_node_confirms_a_proof_and_its_document(shallow: World, tmp_path: Path) -> None:
    post_id, cid = await published_post(shallow, shallow.wallet(5), "Proved.")
    await finalize(shallow)
    proof = await _saved(shallow, post_id, tmp_path)
    code, said = await _verify(shallow, proof)
    assert code == 0, said
    assert f"published {cid}" in said
    assert f"as post {post_id} of the contract {shallow.marketplace.lower()}" in said
    document = tmp_path / "document"
    document.write_bytes((await shallow.client.get(f"/p/{post_id}/document")).content)
    code, said = await _verify(shallow, proof, "--document", document, "--json")
    assert code == 0, said
    assert json.loads(said) == {
        "proved": True,
        "chain_id": 31337,
        "marketplace": shallow.marketplace.lower(),
        "following_blocks": DEPTH + 1,
        "document": True,
    }
    document.write_bytes(b"Forged.")
    code, said = await _verify(shallow, proof, "--document", document)
    assert (code, "another one" in said) == (1, True)


async def test_a_proof_for_a_contract_other_than_the_trusted_one_is_refused(
    shallow: World, tmp_path: Path
) -> None:
    post_id, _ = await published_post(shallow, shallow.wallet(5), "Recorded elsewhere.")
    await finalize(shallow)
    proof = await _saved(shallow, post_id, tmp_path)
    code, said = await _verify(shallow, proof, "--marketplace", shallow.marketplace)
    assert (code, "--marketplace" in said) == (0, False), said
    code, said = await _verify(shallow, proof, "--marketplace", "0x" + "44" * 20)
    assert (code, "another contract" in said) == (1, True)


Forge = Callable[[dict[str, Any]], object]

FORGERIES: dict[str, Forge] = {
    "author": lambda proof: proof.update(author="0x" + "11" * 20),
    "cid": lambda proof: proof.update(cid="bafkrei" + "a" * 52),
    "id": lambda proof: proof.update(id="12345"),
    "time": lambda proof: proof.update(createdAt="2020-01-01T00:00:00Z"),
    "transaction": lambda proof: proof.update(transaction="0x" + "22" * 32),
    "block": lambda proof: proof["block"].update(hash="0x" + "33" * 32),
    "number": lambda proof: proof["block"].update(number=1),
    "index": lambda proof: proof["log"].update(index=proof["log"]["index"] + 1),
    "topics": lambda proof: proof["log"].update(topics=proof["log"]["topics"][:2]),
    "contract": lambda proof: proof["log"].update(address="0x" + "44" * 20),
    "type": lambda proof: proof.update(type="imprint-proof-2"),
    "member": lambda proof: proof.pop("author"),
    "huge id": lambda proof: proof.update(id="9" * 90),
}


@pytest.mark.parametrize("forged", FORGERIES)
async def test_a_forged_proof_is_refused(shallow: World, tmp_path: Path, forged: str) -> None:
    post_id, _ = await published_post(shallow, shallow.wallet(6), f"Forged {forged}.")
    await finalize(shallow)
    file = await _saved(shallow, post_id, tmp_path)
    proof = json.loads(file.read_text())
    FORGERIES[forged](proof)
    file.write_text(json.dumps(proof))
    code, said = await _verify(shallow, file, "--json")
    assert code == 1, said
    assert json.loads(said)["proved"] is False


async def test_a_proof_cannot_be_verified_without_a_node_of_its_chain(
    shallow: World, tmp_path: Path
) -> None:
    post_id, _ = await published_post(shallow, shallow.wallet(7), "Elsewhere.")
    await finalize(shallow)
    file = await _saved(shallow, post_id, tmp_path)
    proof = json.loads(file.read_text())
    nobody = await asyncio.to_thread(
        run, {}, "verify", "--proof", file, "--rpc", "http://127.0.0.1:1"
    )
    assert nobody.exit_code == 1
    file.write_text(json.dumps(proof | {"chainId": 1}))
    code, said = await _verify(shallow, file)
    assert (code, "31337" in said) == (2, True), said
    assert (await asyncio.to_thread(run, {}, "verify", "--proof", file)).exit_code == 2
    assert (await asyncio.to_thread(run, {}, "verify")).exit_code == 2
