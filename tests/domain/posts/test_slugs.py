"""Slugs of titles, ordinary and hostile."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from imprint.domain.posts.slugs import MAX_SLUG, PAGE_PATHS, READ_CHARACTERS, page_path, post_slug


@pytest.mark.parametrize(
    ("title", "slug"),
    [
        ("On tides", "on-tides"),
        ("  Don't — “stop”!  ", "dont-stop"),
        ("It’s 50% off", "its-50-off"),
        ("Übergröße für Ämter", "ubergrosse-fur-amter"),
        ("STRASSE und GRÖẞE", "strasse-und-grosse"),
        ("İstanbul'da ılık ŞEHİR", "istanbulda-ilik-sehir"),
        ("Łódź, Ærø og Þingvellir", "lodz-aero-og-thingvellir"),
        ("Crème brûlée n° ①", "creme-brulee-n-1"),
        ("ﬁne ｗｉｄｅ 𝐁𝐨𝐥𝐝", "fine-wide-bold"),
        ("../../etc/passwd", "etc-passwd"),
        ("..", ""),
        ("a/b?c=d#e&f%2Fg", "a-b-c-d-e-f-2fg"),
        ("\u202eevil\u202c \u2066title\u2069\u200b", "evil-title"),
        ("👩‍🚀🎉", ""),
        ("🎉 party", "party"),
        ("東京の夜", ""),
        ("서울의 밤", ""),
        ("Тишина", ""),
        ("Tokyo 東京 2026", "tokyo-2026"),
        ("a\r\nLocation: x", "a-location-x"),
        ("a\x00b", "a-b"),
        ("", ""),
        (" \t\n", ""),
        ("Text", ""),
        ("Document!", ""),
        ("Text messages", "text-messages"),
    ],
)
def test_a_slug_has_the_ascii_words_of_the_title(title: str, slug: str) -> None:
    assert post_slug(title) == slug


def test_a_long_slug_ends_with_a_whole_word() -> None:
    words = " ".join(["seven77"] * 20)
    assert post_slug(words) == "-".join(["seven77"] * 7)
    assert post_slug("x" * 10_000) == "x" * MAX_SLUG
    assert post_slug("a" * MAX_SLUG + " b") == "a" * MAX_SLUG


def test_only_the_beginning_of_a_title_is_read() -> None:
    assert post_slug("!" * READ_CHARACTERS + "unseen") == ""


@given(st.text(max_size=300))
def test_a_slug_is_a_safe_path_segment_and_slugifies_to_itself(title: str) -> None:
    slug = post_slug(title)
    assert len(slug) <= MAX_SLUG
    assert slug.isascii()
    assert all(part.isalnum() and part == part.lower() for part in slug.split("-") if slug)
    assert slug not in PAGE_PATHS
    assert post_slug(slug) == slug


def test_the_page_path_of_a_post_without_a_slug_has_only_the_id() -> None:
    assert page_path(7, "On tides") == "/p/7/on-tides"
    assert page_path(7, "東京") == "/p/7"
