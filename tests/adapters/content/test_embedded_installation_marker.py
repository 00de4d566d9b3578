"""The marker file in a content folder is complete, durable, and names one installation."""

import asyncio
import errno
from pathlib import Path

import pytest
from tests.adapters.content.workbenches import EmbeddedWorkbench

from imprint.adapters.content.embedded import InstallationMarker
from imprint.domain.drafts.files import Network
from imprint.domain.errors import Unavailable
from imprint.domain.formats.cids import document_cid

ONE, OTHER = "11" * 16, "22" * 16


@pytest.fixture
def marker(tmp_path: Path) -> InstallationMarker:
    return InstallationMarker(tmp_path / "installation")


def test_an_unmarked_folder_has_no_marker(marker: InstallationMarker) -> None:
    assert marker.read() is None


def test_an_existing_marker_is_kept(marker: InstallationMarker, tmp_path: Path) -> None:
    assert marker.write(ONE, None) == ONE
    assert marker.write(OTHER, None) == ONE
    assert marker.write(OTHER, "33" * 16) == ONE
    assert (tmp_path / "installation").read_text() == f"{ONE}\n"


def test_a_marker_is_replaced_only_if_the_caller_names_the_old_one(
    marker: InstallationMarker,
) -> None:
    marker.write(ONE, None)
    assert marker.write(OTHER, ONE) == OTHER


def test_writing_a_marker_leaves_no_other_files(marker: InstallationMarker, tmp_path: Path) -> None:
    marker.write(ONE, None)
    marker.write(OTHER, None)
    marker.write(OTHER, ONE)
    assert [path.name for path in tmp_path.iterdir()] == ["installation"]


def test_a_marker_is_readable_by_its_owner_only(marker: InstallationMarker, tmp_path: Path) -> None:
    marker.write(ONE, None)
    assert (tmp_path / "installation").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("text", [b"", b"\xff\xfe", b"no id at all"])
def test_an_invalid_marker_counts_as_another_installation(
    marker: InstallationMarker, tmp_path: Path, text: bytes
) -> None:
    (tmp_path / "installation").write_bytes(text)
    found = marker.read()
    assert found is not None
    assert marker.write(ONE, None) == found
    assert marker.write(ONE, found) == ONE


def test_a_missing_folder_raises_an_error_instead_of_seeming_unmarked(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        InstallationMarker(tmp_path / "gone" / "installation").read()


class WithoutLinks(InstallationMarker):
    """A marker on a file system without hard links."""

    def __init__(self, path: Path) -> None:
        super().__init__(Unlinkable(path))


class Unlinkable(type(Path())):
    def hardlink_to(self, target: Path) -> None:
        raise OSError(errno.ENOTSUP, "no links here")


def test_a_folder_can_be_marked_on_a_file_system_without_hard_links(tmp_path: Path) -> None:
    marker = WithoutLinks(tmp_path / "installation")
    assert marker.write(ONE, None) == ONE
    assert marker.write(OTHER, None) == ONE


async def test_only_one_of_two_concurrent_claims_to_a_folder_wins(
    embedded: EmbeddedWorkbench,
) -> None:
    claims = [embedded.store.claim(each) for each in (ONE, OTHER) * 4]
    (winner,) = set(await asyncio.gather(*claims))
    assert winner in (ONE, OTHER)
    assert await embedded.store.claimed_by(ONE) == winner
    assert await embedded.store.claimed_by(OTHER) == winner


async def test_nothing_is_stored_in_a_folder_claimed_by_another_installation(
    embedded: EmbeddedWorkbench,
) -> None:
    document = b"words"
    cid = document_cid(document)
    store = embedded.store
    await store.claim(ONE)
    assert InstallationMarker(embedded.root / "installation").write(OTHER, ONE) == OTHER
    assert await store.claimed_by(ONE) == OTHER
    with pytest.raises(Unavailable):
        await store.put(cid, document, Network.PRIVATE)
    (embedded.root / "installation").unlink()
    assert await store.claimed_by(ONE) is None
    with pytest.raises(Unavailable):
        await store.put(cid, document, Network.PRIVATE)
    await store.claim(ONE)
    await store.put(cid, document, Network.PRIVATE)
    assert await store.read(cid, Network.PRIVATE) == document


async def test_a_missing_folder_raises_unavailable(embedded: EmbeddedWorkbench) -> None:
    embedded.root.rename(embedded.root.with_name("elsewhere"))
    with pytest.raises(Unavailable):
        await embedded.store.claimed_by(ONE)
    embedded.root.with_name("elsewhere").rename(embedded.root)
