"""Pages of a list of files."""

from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from imprint.domain.drafts.files import File, State
from imprint.domain.formats.addresses import Address
from imprint.domain.formats.cids import Codec, cid_of
from imprint.domain.posts.indexed_posts import Page, cut_page

MOMENT = datetime(2030, 1, 31, tzinfo=UTC)


def make_files(count: int) -> list[File]:
    """Create files as returned by a catalog, newest first."""
    return [
        File(
            id=str(position),
            group_id="g",
            owner=Address("0x" + "a1" * 20),
            name=f"n_{position}",
            cid=cid_of(Codec.RAW, position.to_bytes(32)),
            size=1,
            created_at=MOMENT,
            state=State.ONCHAIN,
            position=position,
        )
        for position in range(count, 0, -1)
    ]


def test_an_empty_list_is_one_empty_page() -> None:
    assert cut_page([], 9) == Page((), None)


def test_a_full_page_without_an_extra_file_is_the_last() -> None:
    files = make_files(9)
    assert cut_page(files, 9) == Page(tuple(files), None)


def test_an_extra_file_is_not_shown_but_indicates_that_more_follow() -> None:
    files = make_files(10)
    assert cut_page(files, 9) == Page(tuple(files[:9]), files[8].position)


@given(st.integers(0, 40), st.integers(1, 12))
def test_consecutive_pages_contain_every_file_once(count: int, size: int) -> None:
    files, shown, position = make_files(count), [], count + 1
    while True:
        after = [file for file in files if file.position < position]
        page = cut_page(after[: size + 1], size)
        shown += page.files
        if page.next_position is None:
            break
        position = page.next_position
    assert shown == files
