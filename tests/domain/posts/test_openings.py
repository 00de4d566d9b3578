"""The opening of a post ends at its "more" line and contains nothing below the line."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from imprint.domain.posts.openings import (
    MARK,
    MAX_TEXT,
    TextFacts,
    opening_of,
    read_opening,
    text_facts,
    without_marks,
)
from imprint.domain.posts.text_work import Abandoned, TextWork

BELOW = "The canary sings below."

PNG = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAMAAAAC"


@pytest.mark.parametrize(
    ("content", "opening"),
    {
        "a block of its own": (f"Above.\n\n{MARK}\n\n{BELOW}", "Above."),
        "right below a paragraph": (f"Above.\n{MARK}\n{BELOW}", "Above."),
        "the first of two": (f"Above.\n\n{MARK}\n\n{BELOW}\n\n{MARK}\n", "Above."),
        "several paragraphs": (f"# A\n\nB\n\n{MARK}\n{BELOW}", "# A\n\nB"),
        "spaces around": (f"Above.\n   {MARK} \t\n{BELOW}", "Above."),
        "lines of Windows": (f"A\r\nB\r\n{MARK}\r\n{BELOW}", "A\nB"),
        "lines of old Macs": (f"A\r{MARK}\r{BELOW}", "A"),
        "the last line": (f"Above.\n{MARK}", "Above."),
        "below a list": (f"- a\n- b\n{MARK}\n{BELOW}", "- a\n- b"),
        "below a quotation": (f"> a\n{MARK}\n{BELOW}", "> a"),
        "below a table": (f"|a|\n|-|\n|b|\n{MARK}\n{BELOW}", "|a|\n|-|\n|b|"),
        "below a picture": (f"![]({PNG})\n{MARK}\n{BELOW}", f"![]({PNG})"),
        "below other HTML": (f"<b>a</b>\n\n{MARK}\n{BELOW}", "<b>a</b>"),
        "after a code fence": (f"```\n{MARK}\n```\n{MARK}\n{BELOW}", f"```\n{MARK}\n```"),
        "text that looks like JSON": (f"{{a}}\n\n{MARK}\n{BELOW}", "{a}"),
    }.values(),
)
def test_an_opening_is_the_text_above_the_more_line(content: str, opening: str) -> None:
    assert opening_of(content, TextWork()) == opening
    assert BELOW not in opening


@pytest.mark.parametrize(
    "content",
    [
        BELOW,
        f"{MARK}\n{BELOW}",
        f"\n \t\n{MARK}\n{BELOW}",
        f"Above.\n\n```\n{MARK}\n```\n{BELOW}",
        f"Above.\n\n~~~\n{MARK}\n{BELOW}",
        f"Above.\n\n    {MARK}\n{BELOW}",
        f"Above.\n    {MARK}\n{BELOW}",
        f"- a\n  {MARK}\n\n{BELOW}",
        f"> a\n> {MARK}\n\n{BELOW}",
        f"Above. {MARK}\n{BELOW}",
        f"Above.\n{MARK} and more\n{BELOW}",
        f"Above.\n<!-- more -->\n{BELOW}",
        f"Above.\n<!--MORE-->\n{BELOW}",
        f"Above.\n<!--more\n-->\n{BELOW}",
        f"Above.\n<div>\n{MARK}\n</div>\n{BELOW}",
        f"Above.\n<!--\n{MARK}\n{BELOW}",
        f"Above.\n<script>\n\n{MARK}\n{BELOW}",
        f"Above.\n\\{MARK}\n{BELOW}",
        f"Above.\v{MARK}\v{BELOW}",
        f"Above.\u2028{MARK}\u2028{BELOW}",
        json.dumps({"blocks": [{"type": "paragraph", "data": {"text": f"a\n{MARK}\n{BELOW}"}}]}),
        json.dumps({"title": "a", "content": f"a\n\n{MARK}\n\n{BELOW}"}, indent=1),
    ],
)
def test_a_more_line_ends_an_opening_only_if_it_is_a_block_of_its_own(content: str) -> None:
    assert opening_of(content, TextWork()) is None
    assert text_facts(content, TextWork()).opening is None


@pytest.mark.parametrize(
    "content",
    ["a\n\n" * 340_000, "word " * (MAX_TEXT // 5 + 1), f"{MARK}\n" * 40_000],
)
def test_a_text_that_takes_too_much_work_has_a_word_count_but_no_opening(content: str) -> None:
    marked = f"{content}\n\n{MARK}\n{BELOW}"
    work = TextWork(steps=50_000)
    facts = text_facts(marked, work)
    assert facts.opening is None
    assert facts.words >= 4


def test_a_text_that_is_long_only_below_the_more_line_has_an_opening() -> None:
    content = f"Above.\n\n{MARK}\n\n" + "word\n" * MAX_TEXT
    assert read_opening(content, TextWork()).content == "Above."
    assert text_facts(content, TextWork()).words == MAX_TEXT + 1


def test_pictures_do_not_count_towards_the_length_of_a_text() -> None:
    content = f"![]({PNG}{'A' * 2 * MAX_TEXT})\n{MARK}\n{BELOW}"
    found = opening_of(content, TextWork())
    assert found is not None
    assert found.startswith("![](data:")


def test_finding_an_opening_stops_if_the_work_is_abandoned() -> None:
    work = TextWork()
    work.is_abandoned = True
    with pytest.raises(Abandoned):
        opening_of(f"Above.\n{MARK}\n{BELOW}", work)


def test_text_facts_include_the_whole_text_and_the_text_above_the_more_line() -> None:
    content = f"# One two\n\n[Three](/x) **four**\n\n{MARK}\n\nfive six\n\n{MARK}\n"
    assert text_facts(content, TextWork()) == TextFacts(
        6, "One two\nThree four\nfive six", "One two\nThree four"
    )
    assert read_opening(content, TextWork()).words == 4


def test_more_lines_are_removed_from_a_text_except_in_code() -> None:
    content = f"{MARK}\na\n{MARK}\nb\n```\n{MARK}\n```\n{MARK}"
    assert without_marks(content, TextWork()) == f"\na\n\nb\n```\n{MARK}\n```\n"


@given(st.lists(st.sampled_from(["a", "> b", "- c", "```", "    d", "", MARK, "<div>", "<!--"])))
def test_an_opening_is_always_a_prefix_of_the_text_followed_by_a_more_line(
    lines: list[str],
) -> None:
    content = "\n".join(lines)
    opening = opening_of(content, TextWork())
    if opening is not None:
        stripped = content.lstrip("\n")
        assert stripped.startswith(opening)
        assert stripped[len(opening) :].lstrip("\n").startswith(MARK)
