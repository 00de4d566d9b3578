"""The Kubo store on a real node: removal, garbage collection, labels, restarts, authorization."""

import asyncio
from pathlib import Path

import pytest
from tests.kubo.conftest import KuboWorkbench
from tests.kubo.node import KuboNode

from imprint.adapters.content.kubo import KuboStore, write_pin_node
from imprint.domain.drafts.files import Label, Network, State
from imprint.domain.errors import Unavailable
from imprint.domain.formats.addresses import Address
from imprint.domain.formats.cids import blocks, document_cid

PRIVATE, PUBLIC = Network.PRIVATE, Network.PUBLIC
SMALL = b'{"content":"Hi","name":"n","salt":"00"}'
LARGE = b"first piece".ljust(262_144) + b"second piece"
OWNER = Address("0x" + "ab" * 20)
LABEL = Label(f"{OWNER}_7", OWNER, "group-1", State.PENDING)


def kept_blocks(node: KuboNode) -> set[bytes]:
    return {path.read_bytes() for path in (node.folder / "repo" / "blocks").glob("*/*.data")}


async def expect_nothing_left(node: KuboNode, before: set[bytes], document: bytes) -> None:
    """Check that only the unpinned directory that `add` created for the document is left.

    The node's garbage collection removes that directory.
    """
    left = kept_blocks(node) - before
    assert len(left) <= 1
    assert not any(document[:10] in block or document[-10:] in block for block in left)
    await node.run("repo", "gc", "--quiet")
    assert kept_blocks(node) <= before


@pytest.mark.parametrize("document", [SMALL, LARGE], ids=["small", "large"])
async def test_nothing_is_left_of_a_removed_document(bench: KuboWorkbench, document: bytes) -> None:
    before = kept_blocks(bench.node)
    cid = document_cid(document)
    await bench.store.put(cid, document, PRIVATE)
    assert len(kept_blocks(bench.node)) > len(before)
    await bench.store.remove(cid, PRIVATE)
    await expect_nothing_left(bench.node, before, document)
    assert "imprint" not in await bench.node.run("pin", "ls", "--names", "--type=all")


async def test_a_block_shared_with_another_document_is_kept(bench: KuboWorkbench) -> None:
    other = LARGE[:262_144] + b"another end"
    for document in (LARGE, other):
        await bench.store.put(document_cid(document), document, PRIVATE)
    await bench.store.remove(document_cid(LARGE), PRIVATE)
    assert await bench.store.read(document_cid(LARGE), PRIVATE) is None
    assert await bench.store.read(document_cid(other), PRIVATE) == other


async def test_an_interrupted_removal_can_be_repeated(bench: KuboWorkbench) -> None:
    before = kept_blocks(bench.node)
    cid = document_cid(LARGE)
    await bench.store.put(cid, LARGE, PRIVATE)
    await bench.node.run("pin", "rm", write_pin_node(cid, PRIVATE)[0])
    leaf = list(blocks(LARGE))[1][0]
    await bench.node.run("block", "rm", leaf)
    await bench.store.remove(cid, PRIVATE)
    await expect_nothing_left(bench.node, before, LARGE)


@pytest.mark.parametrize("document", [SMALL, LARGE], ids=["small", "large"])
async def test_garbage_collection_on_the_node_keeps_documents(
    bench: KuboWorkbench, document: bytes
) -> None:
    cid = document_cid(document)
    await bench.store.put(cid, document, PRIVATE)
    await bench.node.run("repo", "gc", "--quiet")
    assert await bench.store.read(cid, PRIVATE) == document


async def test_a_put_during_garbage_collection_succeeds_or_raises_unavailable(
    bench: KuboWorkbench,
) -> None:
    documents = [f"{number}".encode().ljust(300_000) for number in range(30)]

    async def collect() -> None:
        for _ in range(5):
            await bench.node.run("repo", "gc", "--quiet")

    puts = [bench.store.put(document_cid(each), each, PRIVATE) for each in documents]
    *stored, _ = await asyncio.gather(*puts, collect(), return_exceptions=True)
    assert [each for each in stored if not isinstance(each, Unavailable | None)] == []
    for document, outcome in zip(documents, stored, strict=True):
        if outcome is None:
            assert await bench.store.read(document_cid(document), PRIVATE) == document


async def test_documents_survive_a_restart_of_the_node(bench: KuboWorkbench) -> None:
    for document in (SMALL, LARGE):
        await bench.store.put(document_cid(document), document, PRIVATE)
    await bench.node.stop()
    await bench.node.start()
    await bench.reopen()
    for document in (SMALL, LARGE):
        assert await bench.store.read(document_cid(document), PRIVATE) == document


async def test_blocks_added_outside_imprint_are_not_documents(bench: KuboWorkbench) -> None:
    (bench.node.folder / "document").write_bytes(SMALL)
    options = ["--quieter", "--cid-version=1"]
    added = await bench.node.run("add", *options, str(bench.node.folder / "document"))
    assert added == document_cid(SMALL)
    assert await bench.store.read(document_cid(SMALL), PUBLIC) is None
    assert await bench.store.read(document_cid(SMALL), PRIVATE) is None


@pytest.mark.parametrize("document", [SMALL, LARGE], ids=["small", "large"])
async def test_labels_are_stored_as_pin_names(bench: KuboWorkbench, document: bytes) -> None:
    cid = document_cid(document)
    await bench.store.put(cid, document, PRIVATE, LABEL)
    names = await bench.node.run("pin", "ls", "--names", "--type=all")
    assert f"imprint private pending {OWNER}_7 group-1" in names
    label = Label(LABEL.name, OWNER, "group-1", State.ONCHAIN)
    await bench.store.relabel(cid, PRIVATE, label)
    names = await bench.node.run("pin", "ls", "--names", "--type=all")
    assert "pending" not in names
    assert f"imprint private onchain {OWNER}_7 group-1" in names
    assert await bench.store.read(cid, PRIVATE) == document


async def test_labelling_a_removed_document_does_not_restore_it(bench: KuboWorkbench) -> None:
    await bench.store.put(document_cid(SMALL), SMALL, PRIVATE)
    await bench.store.remove(document_cid(SMALL), PRIVATE)
    await bench.store.relabel(document_cid(SMALL), PRIVATE, LABEL)
    assert await bench.store.read(document_cid(SMALL), PRIVATE) is None


@pytest.mark.parametrize(
    ("secret", "header"),
    [
        ("bearer:a-long-token", "Bearer a-long-token"),
        ("basic:imprint:pass word", "Basic aW1wcmludDpwYXNzIHdvcmQ="),
    ],
)
async def test_requests_to_a_protected_node_are_authorized(
    tmp_path: Path, secret: str, header: str
) -> None:
    node = KuboNode(tmp_path / "node", authorization=secret)
    await node.start()
    try:
        allowed, stranger = KuboStore(node.api, header), KuboStore(node.api)
        await allowed.put(document_cid(SMALL), SMALL, PRIVATE)
        with pytest.raises(Unavailable):
            await stranger.read(document_cid(SMALL), PRIVATE)
        with pytest.raises(Unavailable):
            await stranger.probe()
        await allowed.probe()
        for store in (allowed, stranger):
            await store.close()
    finally:
        await node.stop()
