"""Lists by keyset: a filter and a position, so that nobody sees a file twice or misses one."""

from dataclasses import dataclass

from imprint.domain.addresses import Address
from imprint.domain.files import File

PUBLIC_PAGE_SIZE = 9
"""How many files a page of a public list holds; the contract's number."""

DRAFTS_PAGE_SIZE = 12
"""How many files the first page of an owner's drafts holds; the contract's number."""


@dataclass(frozen=True, slots=True)
class PublicList:
    """Posts, newest first; only those with all the tags, if any are given."""

    tags: tuple[str, ...] = ()
    drafts_too: bool = False


@dataclass(frozen=True, slots=True)
class OwnDrafts:
    """The drafts of one owner, newest first."""

    owner: Address


ListFilter = PublicList | OwnDrafts


@dataclass(frozen=True, slots=True)
class Page:
    """Some files of a list, and the position after which the next page begins, if there is one."""

    files: tuple[File, ...]
    next_position: int | None


def cut_page(files: list[File], size: int) -> Page:
    """A page of `size` out of up to `size + 1` files: the one too many says that more follow."""
    shown = tuple(files[:size])
    more = len(files) > size
    return Page(shown, shown[-1].position if more else None)
