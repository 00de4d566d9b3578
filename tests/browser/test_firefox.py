"""The site in Firefox: reading, searching, buying, writing, documentation, dark colours.

No page may log an error or violate its content security policy.
"""

from collections.abc import Iterator

import pytest
from tests.browser.firefox import ENTER, Firefox, find_firefox, open_firefox
from tests.browser.posts import NewPost, publish
from tests.browser.states import AUTHOR, BUYER, HELD, READER, TEXT, Place

PROGRAM = find_firefox()

pytestmark = pytest.mark.skipif(PROGRAM is None, reason="Firefox is not installed")

DARK = 0
"""The value of the colour scheme setting for dark colours."""

BACKGROUND = "return getComputedStyle(document.body).backgroundColor"


@pytest.fixture(scope="session")
def process(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Firefox]:
    assert PROGRAM is not None
    with open_firefox(PROGRAM, tmp_path_factory.mktemp("firefox")) as opened:
        yield opened


@pytest.fixture
def firefox(process: Firefox, place: Place) -> Iterator[Firefox]:
    """A reset browser in which no page may log an error or violate its policy."""
    process.forget()
    yield process
    assert process.problems(place.url) == []


def sign_in(firefox: Firefox, name: str) -> None:
    firefox.click("#account button", "Sign in")
    firefox.click("dialog button", name)
    firefox.find("#account summary")


def test_the_front_page_lists_the_posts(firefox: Firefox, place: Place) -> None:
    # The newest post is the first one on the front page.
    [post] = publish(place.url, [NewPost("On foxes", TEXT)])
    firefox.visit(place.url)
    firefox.find("#account button", "Sign in")
    assert firefox.text(f".card[data-id='{post}'] .card-title") == "On foxes"
    firefox.click(".card-title a", "On foxes")
    firefox.wait_until("return location.pathname.startsWith(arguments[0])", f"/p/{post}/")


def test_a_free_post_can_be_read_without_scripts(firefox: Firefox, place: Place) -> None:
    firefox.prefer("javascript.enabled", False)
    firefox.visit(f"{place.url}/p/{place.free}")
    assert firefox.text("h1") == "On paper"
    assert "Somebody said this before." in firefox.text("#text")
    assert firefox.run("return document.querySelector('#account').childElementCount") == 0


def test_posts_can_be_searched(firefox: Firefox, place: Place) -> None:
    firefox.visit(place.url)
    firefox.write("[type=search]", f"On paper{ENTER}")
    firefox.wait_until("return location.pathname === '/search'")
    assert firefox.text(f".card[data-id='{place.free}'] .card-title") == "On paper"


def test_a_development_account_can_sign_in_and_out(firefox: Firefox, place: Place) -> None:
    firefox.visit(place.url)
    sign_in(firefox, READER)
    firefox.click("#account summary")
    firefox.click("#account button", "Sign out")
    firefox.find("#account button", "Sign in")


def test_a_bought_post_can_be_read_and_is_in_the_library(firefox: Firefox, place: Place) -> None:
    [post] = publish(place.url, [NewPost("On tails", TEXT, price=10**16)])
    firefox.visit(f"{place.url}/p/{post}")
    firefox.click("#gate button", "Buy and read")
    firefox.click("dialog button", BUYER)
    firefox.find("#text h2", "A list and a quote")
    firefox.wait_until(f"return ({HELD})(arguments[0])", post)
    firefox.visit(f"{place.url}/library")
    firefox.find("#library a", "On tails")


def test_a_draft_is_written_previewed_and_saved(firefox: Firefox, place: Place) -> None:
    firefox.visit(f"{place.url}/studio")
    firefox.click("button", "Connect your wallet")
    firefox.click("dialog button", AUTHOR)
    firefox.click("button", "New draft")
    firefox.write(".cm-content", "# On glue\n\nIt **holds**.")
    firefox.find(".preview strong", "holds")
    firefox.click("button", "your wallet signs once")
    firefox.click("dialog button", "Just this once")
    firefox.wait_until("return document.querySelector('.standing')?.textContent === 'Saved'")


def test_an_operation_can_be_tried_in_the_documentation(firefox: Firefox, place: Place) -> None:
    firefox.visit(f"{place.url}/docs")
    firefox.click("#listPosts .try > summary")
    firefox.click("#listPosts .try button", "Send")
    firefox.find("#listPosts .outcome strong", "200")


def test_dark_colours_are_used_if_the_system_prefers_them(firefox: Firefox, place: Place) -> None:
    firefox.visit(f"{place.url}/p/{place.free}")
    light = firefox.run(BACKGROUND)
    firefox.prefer("layout.css.prefers-color-scheme.content-override", DARK)
    firefox.visit(f"{place.url}/p/{place.free}")
    firefox.wait_until("return matchMedia('(prefers-color-scheme: dark)').matches")
    assert firefox.run(BACKGROUND) != light


def test_the_console_check_finds_a_policy_violation(process: Firefox, place: Place) -> None:
    process.forget()
    process.visit(place.url)
    process.run("document.body.setAttribute('onclick', 'document.title = 1')")
    process.click("footer")
    assert "Content-Security-Policy" in process.wait_for_problem(place.url)
