"""Tests of `imprint import-pinata`."""

import asyncio
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.adapters.content.pinata_fake import JWT, PinataFake
from tests.cli.installations import environment_of, files_in, run

OWNER = "0x" + "ab" * 20


@pytest.fixture
def pinata() -> Iterator[PinataFake]:
    """A fake Pinata that runs in its own thread, beside the event loop of the command."""
    fake, loop = PinataFake(), asyncio.new_event_loop()
    loop.run_until_complete(fake.start())
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    yield fake
    asyncio.run_coroutine_threadsafe(fake.stop(), loop).result(10)
    loop.call_soon_threadsafe(loop.stop)
    thread.join()
    loop.close()


def test_importing_an_account_twice_creates_no_duplicates(
    pinata: PinataFake, tmp_path: Path
) -> None:
    environ = environment_of(tmp_path / "here") | {
        "IMPRINT_PINATA_JWT": JWT,
        "IMPRINT_PINATA_GATEWAY": pinata.origin,
        "IMPRINT_PINATA_API_URL": f"{pinata.origin}/api/v3",
    }
    kept = pinata.add_file("private", b'{"content":"a","lang":"ts"}', "a", {"owner": OWNER})["cid"]
    stray = pinata.add_file("private", b"not a text", "b", {})["cid"]
    first = run(environ, "import-pinata")
    assert first.exit_code == 0, first.output
    assert "0 posts and 1 drafts were imported." in first.output
    assert f"{stray}  Its keyvalues name no owner" in first.output
    again = run(environ, "import-pinata")
    assert "0 posts and 0 drafts were imported." in again.output
    assert f"{kept}  It is already here." in again.output
    assert [file.cid for file in files_in(tmp_path / "here")] == [kept]


def test_erased_files_are_not_imported_again(pinata: PinataFake, tmp_path: Path) -> None:
    environ = environment_of(tmp_path / "here") | {
        "IMPRINT_PINATA_JWT": JWT,
        "IMPRINT_PINATA_GATEWAY": pinata.origin,
        "IMPRINT_PINATA_API_URL": f"{pinata.origin}/api/v3",
    }
    cid = pinata.add_file("private", b'{"content":"a","lang":"ts"}', "a", {"owner": OWNER})["cid"]
    assert run(environ, "import-pinata").exit_code == 0
    assert run(environ, "erase", OWNER, "--yes").exit_code == 0
    again = run(environ, "import-pinata")
    assert f"{cid}  A measure of the operator withholds it here." in again.output
    assert files_in(tmp_path / "here") == []


def test_missing_settings_are_named_if_there_is_no_key(tmp_path: Path) -> None:
    result = run(environment_of(tmp_path / "here"), "import-pinata")
    assert result.exit_code == 2
    assert "IMPRINT_PINATA_JWT" in result.output
