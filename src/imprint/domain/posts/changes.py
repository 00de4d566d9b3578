"""Changes between two texts: removed and added lines, and words within changed lines.

The work is bounded: where two texts differ too much, everything counts as changed.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from imprint.domain.posts.text_work import TextWork

MAX_CELLS = 250_000
"""Maximum number of compared pairs of lines or words. Above it, everything counts as changed."""

MAX_SHOWN = 200_000
"""Maximum number of characters of changes to show."""

CONTEXT = 1
"""Number of unchanged lines shown before and after a change."""

_WORDS = re.compile(r"\s+|[^\s]+")


class Kind(StrEnum):
    """Whether a part of a text was kept, added or removed."""

    SAME = "same"
    REMOVED = "removed"
    ADDED = "added"


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a line that is in one of the texts, or in both."""

    kind: Kind
    text: str


@dataclass(frozen=True, slots=True)
class Changes:
    """Lines with their parts. An empty line stands for unchanged lines that are left out.

    `is_cut` is true if not all changes are shown.
    """

    lines: tuple[tuple[Part, ...], ...]
    is_cut: bool = False

    def __len__(self) -> int:
        return sum(len(part.text) for line in self.lines for part in line) + len(self.lines)


def compare_texts(before: str, after: str, work: TextWork) -> Changes:
    """Compare two texts line by line, and changed lines word by word. Raises `TooIntricate`."""
    shown: list[tuple[Part, ...]] = []
    left = MAX_SHOWN
    for line in _with_context(list(_changed_lines(before, after, work))):
        left -= sum(len(part.text) for part in line) + 1
        if left < 0:
            return Changes(tuple(shown), is_cut=True)
        shown.append(line)
    return Changes(tuple(shown))


def _changed_lines(before: str, after: str, work: TextWork) -> Iterator[tuple[Part, ...]]:
    removed: list[str] = []
    added: list[str] = []
    for part in (*_compare(before.splitlines(), after.splitlines(), work), None):
        if part is not None and part.kind is Kind.REMOVED:
            removed.append(part.text)
        elif part is not None and part.kind is Kind.ADDED:
            added.append(part.text)
        else:
            if len(removed) == len(added):
                for old, new in zip(removed, added, strict=True):
                    yield _changed_words(old, new, work)
            else:
                yield from ((Part(Kind.REMOVED, line),) for line in removed)
                yield from ((Part(Kind.ADDED, line),) for line in added)
            removed, added = [], []
            if part is not None:
                yield (part,)


def _changed_words(before: str, after: str, work: TextWork) -> tuple[Part, ...]:
    merged: list[Part] = []
    for part in _compare(_WORDS.findall(before), _WORDS.findall(after), work):
        if merged and merged[-1].kind is part.kind:
            merged[-1] = Part(part.kind, merged[-1].text + part.text)
        else:
            merged.append(part)
    return tuple(merged)


def _compare(before: Sequence[str], after: Sequence[str], work: TextWork) -> Iterator[Part]:
    """Return the longest common subsequence of two sequences, and the parts between its items."""
    start = 0
    while start < min(len(before), len(after)) and before[start] == after[start]:
        start += 1
    end = 0
    most = min(len(before), len(after)) - start
    while end < most and before[-1 - end] == after[-1 - end]:
        end += 1
    work.spend(start + end + 1)
    yield from (Part(Kind.SAME, text) for text in before[:start])
    yield from _compare_middle(
        before[start : len(before) - end], after[start : len(after) - end], work
    )
    yield from (Part(Kind.SAME, text) for text in before[len(before) - end :])


def _compare_middle(before: Sequence[str], after: Sequence[str], work: TextWork) -> Iterator[Part]:
    if len(before) * len(after) > MAX_CELLS:
        yield from (Part(Kind.REMOVED, text) for text in before)
        yield from (Part(Kind.ADDED, text) for text in after)
        return
    # lengths[i][j]: the length of the longest common subsequence of before[i:] and after[j:].
    lengths = [[0] * (len(after) + 1)]
    for old in reversed(before):
        work.spend(len(after) + 1)
        below, row = lengths[-1], [0] * (len(after) + 1)
        for j in range(len(after) - 1, -1, -1):
            row[j] = below[j + 1] + 1 if old == after[j] else max(below[j], row[j + 1])
        lengths.append(row)
    lengths.reverse()
    i = j = 0
    while i < len(before) or j < len(after):
        if i < len(before) and j < len(after) and before[i] == after[j]:
            yield Part(Kind.SAME, before[i])
            i, j = i + 1, j + 1
        elif j == len(after) or (i < len(before) and lengths[i + 1][j] >= lengths[i][j + 1]):
            yield Part(Kind.REMOVED, before[i])
            i += 1
        else:
            yield Part(Kind.ADDED, after[j])
            j += 1


def _with_context(lines: list[tuple[Part, ...]]) -> Iterator[tuple[Part, ...]]:
    """Return the changed lines with the unchanged lines around them."""
    is_changed = [any(part.kind is not Kind.SAME for part in line) for line in lines]
    near = [
        any(is_changed[max(0, number - CONTEXT) : number + CONTEXT + 1])
        for number in range(len(lines))
    ]
    is_left_out = False
    for line, is_near in zip(lines, near, strict=True):
        if is_near:
            yield line
        elif not is_left_out:
            yield ()
        is_left_out = not is_near
