"""Pinata's own SDK works with our fake of Pinata."""

import asyncio
import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.adapters.content.pinata_fake import JWT, PinataFake
from tests.adapters.content.workbenches import PinataWorkbench

from imprint.domain.drafts.files import Label, Network, State
from imprint.domain.formats.addresses import Address
from imprint.domain.formats.cids import document_cid

HERE = Path(__file__).parent
HELLO = b"hello world"
TIMEOUT = 100


async def run_client(fake: PinataFake, *options: str, stored: int = 0) -> str:
    """Run the SDK's tests and return their output. Fails with that output if a test fails."""
    process = await asyncio.create_subprocess_exec(
        "node",
        "--test",
        "--test-reporter=spec",
        *options,
        "files.test.mjs",
        cwd=HERE,
        env=os.environ | {"PINATA_ORIGIN": fake.origin, "PINATA_JWT": JWT, "STORED": str(stored)},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    async with asyncio.timeout(TIMEOUT):
        out, _ = await process.communicate()
    if process.returncode:
        pytest.fail(out.decode(), pytrace=False)
    return out.decode()


@pytest.fixture
async def fake() -> AsyncIterator[PinataFake]:
    double = PinataFake()
    await double.start()
    yield double
    await double.stop()


async def test_the_sdk_works_with_the_fake(fake: PinataFake) -> None:
    said = await run_client(fake)
    assert "ℹ fail 0" in said
    assert "ℹ pass 8" in said


async def test_the_sdk_finds_a_document_written_by_the_store(fake: PinataFake) -> None:
    bench = PinataWorkbench(fake, public=False)
    owner = Address("0x" + "ab" * 20)
    label = Label("name", owner, "group", State.PENDING)
    await bench.store.put(document_cid(HELLO), HELLO, Network.PRIVATE, label)
    said = await run_client(fake, "--test-name-pattern=what the store", stored=1)
    await bench.store.close()
    assert "ℹ fail 0" in said
    assert "ℹ pass 1" in said
