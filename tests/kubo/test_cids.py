"""A real node computes the same cids as this service."""

import json
import random
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from tests.kubo.node import KuboNode

from imprint.adapters.content.kubo import KuboStore
from imprint.domain.drafts.files import Network
from imprint.domain.formats.car import write_car
from imprint.domain.formats.cids import LAYOUTS, blocks, document_cid

FOLDER = Path(__file__).parents[1] / "vectors"
VECTORS = json.loads((FOLDER / "cid.json").read_text())["vectors"]
VERSION_0 = json.loads((FOLDER / "cid_version_0.json").read_text())["vectors"]
SIZES = [0, 1, 262_143, 262_144, 262_145, 524_288, 524_289]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("kubo")


@pytest.fixture
async def kept(folder: Path) -> AsyncIterator[KuboNode]:
    node = KuboNode(folder / "node")
    await node.start()
    yield node
    await node.stop()


def read_vector(vector: dict[str, Any]) -> bytes:
    return vector["text"].encode() if "text" in vector else bytes(vector["size"])


@pytest.mark.parametrize(
    "vector", [*VECTORS, *VERSION_0], ids=lambda each: f"{each.get('size', 'text')}"
)
async def test_the_node_computes_the_same_cid_for_every_vector(
    folder: Path, vector: dict[str, Any]
) -> None:
    node = KuboNode(folder / "idle")
    await node.prepare()
    (folder / "document").write_bytes(read_vector(vector))
    layout = [f"--chunker=size-{vector['chunk']}", f"--max-file-links={vector['width']}"]
    kind = ["--cid-version=1", "--raw-leaves"]
    if vector in VERSION_0:
        kind = ["--cid-version=0", "--raw-leaves=false"]
    options = ["--only-hash", "--quieter", *kind, *layout]
    assert await node.run("add", *options, str(folder / "document")) == vector["cid"]


@pytest.mark.parametrize("seed", range(2))
async def test_random_documents_of_random_sizes_are_stored_under_their_cids(
    kept: KuboNode, seed: int
) -> None:
    chance = random.Random(seed)
    store = KuboStore(kept.api)
    sizes = SIZES if seed == 0 else [int(10 ** chance.uniform(0, 7)) for _ in range(12)]
    for size in sizes:
        document = chance.randbytes(size)
        cid = document_cid(document)
        await store.put(cid, document, Network.PRIVATE)
        assert await store.read(cid, Network.PRIVATE) == document
    await store.close()


async def test_documents_of_other_layouts_are_stored_under_their_cids(kept: KuboNode) -> None:
    store = KuboStore(kept.api)
    for layout in LAYOUTS:
        for size in (1_000, 300_000, 2_000_000):
            document = random.Random(size).randbytes(size)
            cid = document_cid(document, layout)
            await store.put(cid, document, Network.PRIVATE)
            assert await store.read(cid, Network.PRIVATE) == document
            await store.remove(cid, Network.PRIVATE)
            assert await store.read(cid, Network.PRIVATE) is None
    await store.close()


async def test_cids_do_not_depend_on_the_default_settings_of_the_node(tmp_path: Path) -> None:
    node = KuboNode(tmp_path / "node")
    await node.prepare()
    await node.run("config", "profile", "apply", "unixfs-v1-2025")
    await node.start()
    store = KuboStore(node.api)
    document = bytes(3_000_000)
    await store.put(document_cid(document), document, Network.PRIVATE)
    assert await store.read(document_cid(document), Network.PRIVATE) == document
    await store.close()
    await node.stop()


@pytest.mark.parametrize("size", [500, 3_000_000, 46_000_000])
async def test_an_exported_document_has_every_block_and_can_be_imported_elsewhere(
    kept: KuboNode, tmp_path: Path, size: int
) -> None:
    document = random.Random(size).randbytes(size)
    cid = document_cid(document)
    store = KuboStore(kept.api)
    await store.put(cid, document, Network.PUBLIC)
    car = await store.export_car(cid, Network.PUBLIC)
    assert await store.export_car(cid, Network.PRIVATE) is None
    await store.close()
    assert car is not None
    assert car == b"".join(write_car(cid, blocks(document)))
    other = KuboNode(tmp_path / "other")
    await other.prepare()
    (tmp_path / "document.car").write_bytes(car)
    assert cid in await other.run("dag", "import", str(tmp_path / "document.car"))
