"""Changes between two texts: which lines are shown, and the limits on large changes."""

from imprint.domain.posts.changes import (
    MAX_SHOWN,
    Changes,
    Kind,
    Part,
    compare_texts,
)
from imprint.domain.posts.text_work import TextWork

SAME, REMOVED, ADDED = Kind.SAME, Kind.REMOVED, Kind.ADDED


def compare(before: str, after: str) -> Changes:
    return compare_texts(before, after, TextWork())


def test_equal_texts_have_no_changed_parts() -> None:
    parts = [part for line in compare("One.\nTwo.", "One.\nTwo.").lines for part in line]
    assert all(part.kind is SAME for part in parts)
    assert compare("", "").lines == ()


def test_a_changed_word_is_marked_within_its_line() -> None:
    (line,) = compare("The ink is wet.", "The ink is dry.").lines
    assert line == (Part(SAME, "The ink is "), Part(REMOVED, "wet."), Part(ADDED, "dry."))


def test_lines_around_a_change_are_shown_and_others_are_left_out() -> None:
    before = [f"Line {number}." for number in range(9)]
    after = [*before[:4], "Something else entirely.", "And more.", *before[5:]]
    shown = compare("\n".join(before), "\n".join(after)).lines
    assert shown == (
        (),
        (Part(SAME, "Line 3."),),
        (Part(REMOVED, "Line 4."),),
        (Part(ADDED, "Something else entirely."),),
        (Part(ADDED, "And more."),),
        (Part(SAME, "Line 5."),),
        (),
    )


def test_both_texts_can_be_rebuilt_from_the_parts() -> None:
    before = "a b c\nd e\nf\ng h i\nj"
    after = "a c\nd e e\ng h\nx\ni j"
    lines = compare(before, after).lines
    removed = "".join(p.text for line in lines for p in line if p.kind is not ADDED)
    added = "".join(p.text for line in lines for p in line if p.kind is not REMOVED)
    assert removed == before.replace("\n", "")
    assert added == after.replace("\n", "")


def test_texts_with_too_many_differences_count_as_completely_changed() -> None:
    before = "\n".join(f"a{n}" for n in range(5_000))
    after = "\n".join(f"b{n}" for n in range(5_001))
    kinds = {part.kind for line in compare(before, after).lines for part in line}
    assert kinds == {REMOVED, ADDED}


def test_the_size_of_the_shown_changes_is_bounded() -> None:
    found = compare("x" * 10, "\n".join("y" * 1_000 for _ in range(1_000)))
    assert found.is_cut
    assert len(found) <= MAX_SHOWN
