"""Hashtags: one spelling each, limited in number and length."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from imprint.domain.tags import MAX_TAG_LENGTH, MAX_TAGS, NotTags, parse_hashtags


@pytest.mark.parametrize("text", ["", " ", "\t\n"])
def test_an_empty_text_has_no_tags(text: str) -> None:
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
    ],
)
def test_tags_are_normalized_and_keep_their_order(text: str, tags: tuple[str, ...]) -> None:
    assert parse_hashtags(text) == tags


@pytest.mark.parametrize(
    "text",
    [
        ",",
        "ink,",
        ",ink",
        "ink,,paper",
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
    ],
)
def test_other_characters_and_empty_tags_are_refused(text: str) -> None:
    with pytest.raises(NotTags):
        parse_hashtags(text)


def test_a_tag_may_be_as_long_as_the_limit_and_no_longer() -> None:
    assert parse_hashtags("a" * MAX_TAG_LENGTH) == ("a" * MAX_TAG_LENGTH,)
    with pytest.raises(NotTags, match="32 characters"):
        parse_hashtags("a" * (MAX_TAG_LENGTH + 1))


def test_the_length_counts_after_normalization() -> None:
    with pytest.raises(NotTags, match="32 characters"):
        parse_hashtags("\ufb03" * 11)


def test_there_may_be_as_many_tags_as_the_limit_and_no_more() -> None:
    tags = [f"tag{number}" for number in range(MAX_TAGS + 1)]
    assert parse_hashtags(",".join(tags[:-1])) == tuple(tags[:-1])
    with pytest.raises(NotTags, match="At most 10"):
        parse_hashtags(",".join(tags))


def test_duplicates_do_not_count() -> None:
    assert parse_hashtags(",".join(["ink"] * (MAX_TAGS + 1))) == ("ink",)


@given(st.text(max_size=80))
def test_what_was_parsed_is_parsed_into_itself(text: str) -> None:
    try:
        tags = parse_hashtags(text)
    except NotTags:
        return
    assert parse_hashtags(",".join(tags)) == tags
