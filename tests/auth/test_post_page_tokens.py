"""A page of a post list always has the same token, which is not valid for other lists."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from imprint.auth.page_tokens import PagePosition, PageTokens
from imprint.auth.post_page_tokens import (
    MAX_POST_TOKEN_LENGTH,
    OwnList,
    OwnPage,
    PostPageTokens,
    PostsPage,
    token_expiry,
)
from imprint.domain.drafts.tags import MAX_TAG_LENGTH, MAX_TAGS
from imprint.domain.errors import Code, Refusal
from imprint.domain.formats.addresses import Address
from imprint.domain.posts.indexed_posts import (
    PostFilter,
    PostOrder,
    PostPosition,
    PostScope,
    PublicList,
)

SECRET, OTHER = b"s" * 32, b"o" * 32
TOKENS = PostPageTokens(SECRET)
NOW = datetime(2030, 1, 31, 12, 0, 0, tzinfo=UTC)
LATER = token_expiry(NOW)
OWNER = Address("0x" + "ab" * 20)

amounts = st.integers(0, 2**256 - 1)
addresses = st.binary(min_size=20, max_size=20).map(lambda raw: Address("0x" + raw.hex()))
places = st.integers(0, 2**63 - 1)
pages = st.builds(
    PostsPage,
    st.builds(
        PostFilter,
        st.lists(st.text(st.characters(categories=["L"]), max_size=32), max_size=10).map(tuple),
        st.none() | addresses,
        st.none() | st.booleans(),
        st.none() | amounts,
        st.none() | amounts,
        st.sampled_from(PostOrder),
    ),
    st.builds(PostPosition, places, amounts),
    st.integers(1, 50),
    st.none() | st.text(st.characters(exclude_categories=["Cs"]), max_size=100),
) | st.builds(OwnPage, st.sampled_from(OwnList), addresses, places, st.integers(1, 1000))


def refused(token: str, tokens: PostPageTokens = TOKENS, now: datetime = NOW) -> bool:
    with pytest.raises(Refusal) as caught:
        tokens.decode(token, now)
    return caught.value.code is Code.INVALID_PAGE_TOKEN


@pytest.mark.parametrize(
    "page",
    [
        PostsPage(PostFilter(), PostPosition(0), 1),
        PostsPage(
            PostFilter(("ink",), OWNER, True, 255, 2**256 - 1, PostOrder.PRICE, PostScope.CHAIN),
            PostPosition(7, 2**64),
            50,
            "words",
        ),
        *(OwnPage(name, OWNER, 7, 50, "words") for name in OwnList),
    ],
)
def test_every_part_of_a_position_is_decoded(page: PostsPage | OwnPage) -> None:
    assert TOKENS.decode(TOKENS.encode(page, LATER), NOW) == page


@pytest.mark.parametrize(
    ("name", "token"),
    [
        (
            "LIBRARY",
            "m5k-6dBAbGstkw3L2U97obqBeQgV_6zD87PRlZtbbQTf_6YTWlSQfw2vAVjTu8wumv4phe8K1N8oKAop_2BT"
            "OiKhOVA",
        ),
        (
            "POSTS",
            "i1LB0uJzs-oVZmYmrO4hPX0NXV9JIF1yzaTp8JTP1wL5WGZrrbOWLU_vwSQUS-IZC9BYpboSIFnFmayezeeQ"
            "T7ui",
        ),
        (
            "SALES",
            "3EPb7jNVO4WCiqkMtvJLbNkwrmYdxX1thxi7hFYQghM8n0laeDvXYpgfX1JybL8U54VdcnlEb8ZuQSkufGQ2"
            "-JQM",
        ),
    ],
)
def test_a_token_is_the_same_in_every_release(name: str, token: str) -> None:
    # Replicas of two releases would refuse each other's tokens.
    assert TOKENS.encode(OwnPage(OwnList[name], OWNER, 7, 5), LATER) == token


@given(pages)
def test_a_position_always_gets_the_same_token_which_decodes_to_it(
    page: PostsPage | OwnPage,
) -> None:
    token = TOKENS.encode(page, LATER)
    assert TOKENS.decode(token, NOW) == page
    assert PostPageTokens(SECRET).encode(page, LATER) == token


@given(pages, pages)
def test_different_positions_have_different_nonces(
    one: PostsPage | OwnPage, other: PostsPage | OwnPage
) -> None:
    tokens = {TOKENS.encode(page, LATER)[:16] for page in (one, other)}
    assert len(tokens) == len({one, other})


def test_the_longest_filter_fits_into_a_token() -> None:
    which = PostFilter(
        tuple(f"{n}" + "\U0001e900" * (MAX_TAG_LENGTH - 1) for n in range(MAX_TAGS)),
        OWNER,
        False,
        2**256 - 2,
        2**256 - 1,
        PostOrder.NEWEST,
    )
    page = PostsPage(which, PostPosition(2**63 - 1, 2**256 - 1), 50)
    token = TOKENS.encode(page, LATER)
    assert len(token) <= MAX_POST_TOKEN_LENGTH
    assert TOKENS.decode(token, NOW) == page


def token_of(length: int) -> str:
    """Return the shortest valid token that has at least this many characters."""
    pages = (OwnPage(OwnList.LIBRARY, OWNER, 7, 20, "a" * letters) for letters in range(length))
    tokens = (TOKENS.encode(page, LATER) for page in pages)
    return next(token for token in tokens if len(token) >= length)


def test_a_token_of_the_maximum_length_is_decoded() -> None:
    token = token_of(MAX_POST_TOKEN_LENGTH)
    assert len(token) == MAX_POST_TOKEN_LENGTH
    assert TOKENS.decode(token, NOW)


def test_a_genuine_token_above_the_maximum_length_is_refused() -> None:
    assert refused(token_of(MAX_POST_TOKEN_LENGTH + 1))


def test_a_token_with_any_changed_character_is_refused() -> None:
    token = TOKENS.encode(OwnPage(OwnList.SALES, OWNER, 7, 20), LATER)
    for place, old in enumerate(token):
        new = "A" if old != "A" else "B"
        assert refused(token[:place] + new + token[place + 1 :])
    assert refused(token[:-1])
    assert refused(token + "A")
    assert refused("A" * (MAX_POST_TOKEN_LENGTH + 1))


def test_a_token_expires_at_the_end_of_the_following_day() -> None:
    assert datetime(2030, 2, 2, tzinfo=UTC) == LATER
    token = TOKENS.encode(OwnPage(OwnList.LIBRARY, OWNER, 7, 20), LATER)
    assert TOKENS.decode(token, LATER - timedelta(seconds=1))
    assert refused(token, now=LATER)
    for hours in range(48):
        moment = NOW + timedelta(hours=hours)
        left = token_expiry(moment) - moment
        assert timedelta(days=1) <= left <= timedelta(days=2)


def test_tokens_of_the_previous_secret_are_accepted_only_if_it_is_given() -> None:
    page = OwnPage(OwnList.LIBRARY, OWNER, 7, 20)
    old = PostPageTokens(OTHER).encode(page, LATER)
    assert refused(old)
    assert PostPageTokens(SECRET, OTHER).decode(old, NOW) == page


def test_a_token_for_another_kind_of_list_is_refused() -> None:
    files = PageTokens(SECRET).encode(PagePosition(PublicList(), 1), LATER)
    assert refused(files)
    posts = TOKENS.encode(OwnPage(OwnList.LIBRARY, OWNER, 7, 20), LATER)
    with pytest.raises(Refusal):
        PageTokens(SECRET).decode(posts, NOW)
