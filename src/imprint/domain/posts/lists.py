"""Lists of files, paged by keyset: no page repeats or skips a file when others are added."""

from dataclasses import dataclass

from imprint.domain.drafts.files import File
from imprint.domain.formats.addresses import Address

PUBLIC_PAGE_SIZE = 9
"""Files on a page of a public list; fixed by the protocol."""

DRAFTS_PAGE_SIZE = 12
"""Files on the first page of an owner's drafts; fixed by the protocol."""


@dataclass(frozen=True, slots=True)
class PublicList:
    """Posts with all of these tags, newest first; with `drafts_too` also the drafts."""

    tags: tuple[str, ...] = ()
    drafts_too: bool = False


@dataclass(frozen=True, slots=True)
class OwnDrafts:
    """The drafts of one owner, newest first."""

    owner: Address


ListFilter = PublicList | OwnDrafts


@dataclass(frozen=True, slots=True)
class Page:
    """Files of a list; `next_position` is where the next page starts, None on the last one."""

    files: tuple[File, ...]
    next_position: int | None


def cut_page(files: list[File], size: int) -> Page:
    """Cut a page out of up to `size + 1` files; the extra file shows that more follow."""
    shown = tuple(files[:size])
    more = len(files) > size
    return Page(shown, shown[-1].position if more else None)
