"""Hashtags are normalized, and limited in number and length."""

import unicodedata
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from imprint.domain.drafts.tags import (
    MAX_TAG_LENGTH,
    MAX_TAGS,
    NotTags,
    parse_hashtags,
    salvage_hashtags,
)


@pytest.mark.parametrize("text", ["", " ", "\t\n"])
def test_an_empty_string_has_no_tags(text: str) -> None:
    assert parse_hashtags(text) == ()


@pytest.mark.parametrize(
    ("text", "tags"),
    [
        ("ink", ("ink",)),
        ("#ink", ("ink",)),
        ("ink,paper", ("ink", "paper")),
        (" #ink , paper ", ("ink", "paper")),
        ("Ink", ("ink",)),
        ("Ink,#INK,ink", ("ink",)),
        ("paper,ink", ("paper", "ink")),
        ("a_b-c", ("a_b-c",)),
        ("2026", ("2026",)),
        ("über,ÜBER", ("über",)),
        ("u\u0308ber", ("über",)),
        ("ｉｎｋ", ("ink",)),
        ("墨", ("墨",)),
        ("İstanbul", ("i\u0307stanbul",)),
        ("İSTANBUL,i\u0307stanbul", ("i\u0307stanbul",)),
        ("हिन्दी", ("हिन्दी",)),
        ("#हिन्दी , ไทย", ("हिन्दी", "ไทย")),
        ("مُحَمَّد", ("مُحَمَّد",)),
        ("שָׁלוֹם", ("שָׁלוֹם",)),
        ("H\u0331", ("\u1e96",)),
        ("H\u0331,h\u0331,\u1e96", ("\u1e96",)),
        ("a\u0323\u0307,a\u0307\u0323", ("ạ\u0307",)),
    ],
)
def test_tags_are_normalized_and_keep_their_order(text: str, tags: tuple[str, ...]) -> None:
    assert parse_hashtags(text) == tags


@pytest.mark.parametrize(
    "text",
    [
        "#",
        "##ink",
        "two words",
        "a.b",
        "a/b",
        "a\0b",
        "ink\u200b",
        "\u202eink",
        "🖋",
        "<b>",
        "%",
        "\u0307",
        "#\u0301ink",
        "_\u0301",
        "1\u0301",
        "1\ufe0f\u20e3",
        "ink\ufe0f",
        "i\u034fnk",
        "i\U000e0100nk",
        "می\u200cخواهم",
        "क्\u200dष",
    ],
)
def test_invalid_characters_are_refused(text: str) -> None:
    with pytest.raises(NotTags):
        parse_hashtags(text)


def test_a_refusal_names_the_item_that_is_not_a_hashtag() -> None:
    with pytest.raises(NotTags, match="unlike 'two words'"):
        parse_hashtags("ink, two words ,paper")
    with pytest.raises(NotTags) as long:
        parse_hashtags("ink," + "a" * 100_000)
    assert len(str(long.value)) < 100


@pytest.mark.parametrize("text", ["ink,paper", "ink,paper,", ",ink,,paper", " , ink , \t,paper"])
def test_empty_items_are_skipped(text: str) -> None:
    assert parse_hashtags(text) == ("ink", "paper")


@pytest.mark.parametrize(
    ("text", "tags"),
    [
        ("", ()),
        ("Two Words, ink", ("two-words", "ink")),
        ("a \t\u3000b,#A-b", ("a-b",)),
        ("C++,a/b,🖋,##ink,<b>,ok", ("ok",)),
        ("a" * 33 + "," + "\u0301" * 100_000 + ",ink", ("ink",)),
        (",".join(f"tag{n}" for n in range(40)), tuple(f"tag{n}" for n in range(MAX_TAGS))),
        (",".join(["?"] * 1000 + ["ink"] * 20 + ["paper"]), ("ink", "paper")),
    ],
)
def test_salvaging_keeps_the_first_hashtags_and_skips_everything_else(
    text: str, tags: tuple[str, ...]
) -> None:
    assert salvage_hashtags(text) == tags


@given(st.text(max_size=200))
def test_salvaged_hashtags_are_always_valid(text: str) -> None:
    tags = salvage_hashtags(text)
    assert parse_hashtags(",".join(tags)) == tags


def test_the_length_of_a_tag_is_limited() -> None:
    assert parse_hashtags("a" * MAX_TAG_LENGTH) == ("a" * MAX_TAG_LENGTH,)
    with pytest.raises(NotTags, match="32 characters"):
        parse_hashtags("a" * (MAX_TAG_LENGTH + 1))


def test_the_length_is_counted_after_normalization() -> None:
    with pytest.raises(NotTags, match="32 characters"):
        parse_hashtags("\ufb03" * 11)


def test_the_number_of_tags_is_limited() -> None:
    tags = [f"tag{number}" for number in range(MAX_TAGS + 1)]
    assert parse_hashtags(",".join(tags[:-1])) == tuple(tags[:-1])
    with pytest.raises(NotTags, match="At most 10"):
        parse_hashtags(",".join(tags))


def test_duplicate_tags_count_once() -> None:
    assert parse_hashtags(",".join(["ink"] * (MAX_TAGS + 1))) == ("ink",)


def test_a_combining_mark_counts_as_a_character() -> None:
    assert parse_hashtags("q" + "\u0301" * 31)
    with pytest.raises(NotTags, match="32 characters"):
        parse_hashtags("q" + "\u0301" * 32)


def test_a_letter_with_a_composed_mark_counts_as_one_character() -> None:
    assert parse_hashtags("u\u0308" * MAX_TAG_LENGTH) == ("ü" * MAX_TAG_LENGTH,)


def test_a_very_long_tag_is_refused_before_it_is_normalized() -> None:
    with pytest.raises(NotTags, match="32 characters"):
        parse_hashtags("a" + "\u0301\u0323" * 1_000_000)


words = st.text(st.characters(categories=["L", "M", "N"], include_characters="_-#İΣH"), max_size=12)


@given(st.text(max_size=80) | words | st.lists(words, max_size=4).map(",".join))
def test_parsing_parsed_tags_again_changes_nothing(text: str) -> None:
    try:
        tags = parse_hashtags(text)
    except NotTags:
        return
    assert parse_hashtags(",".join(tags)) == tags


@given(words)
def test_a_combining_mark_is_accepted_only_after_a_letter(text: str) -> None:
    try:
        tags = parse_hashtags(text)
    except NotTags:
        return
    for tag in tags:
        assert unicodedata.category(tag[0])[0] != "M"
        for before, char in pairwise(tag):
            if unicodedata.category(char)[0] == "M":
                assert unicodedata.category(before)[0] in "LM"


@given(st.text(st.characters(categories=["L", "N"], include_characters="_-"), max_size=12))
def test_a_word_without_marks_is_normalized_and_lowercased(text: str) -> None:
    spelled = unicodedata.normalize("NFKC", text).lower()
    allowed = all(char in "_-" or unicodedata.category(char)[0] in "LN" for char in spelled)
    if allowed and 1 <= len(spelled) <= MAX_TAG_LENGTH:
        assert parse_hashtags(text) == (spelled,)
