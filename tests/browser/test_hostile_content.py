"""Hostile texts, titles, hashtags and file names on pages.

No payload runs, nothing is loaded from elsewhere, and the content security policy is never
violated. Texts are also opened with the policy disabled: the sanitiser alone must suffice.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

import pytest
from playwright.sync_api import Page, Route, expect
from tests.browser.accounts import Chain, NewAccount, find_chain
from tests.browser.hostile.payloads import (
    CORPORA,
    DOCUMENTS,
    Payload,
    batches,
    blocks_of,
    evasion,
    everything,
    markdown_of,
)
from tests.browser.pages import Opened, OpenPage
from tests.browser.posts import ForeignPost, NewPost, buy, create_on_chain, publish
from tests.browser.states import STATES, Place
from tests.browser.wallet import BrowserWallet, NewWallet, wait_until
from tests.browser.writing import elsewhere
from tests.processes import Service, free_port, running

from imprint.client import Imprint, KeyWallet

INSPECTION = (Path(__file__).parent / "hostile" / "inspection.js").read_text(encoding="utf-8")

PICTURES = """
() => Array.from(document.images).every((image) => {
  image.loading = "eager";
  return image.complete;
})
"""
"""Whether all pictures are loaded, including those out of view.

The script is a function because the policy does not allow the page to evaluate text.
"""

RENDER = """
async ([token, contents]) => {
  const headers = {"Content-Type": "application/json", Authorization: `Bearer ${token}`};
  const rendered = [];
  for (const content of contents) {
    const body = JSON.stringify({content});
    const response = await fetch("/studio/preview", {method: "POST", headers, body});
    if (!response.ok) throw new Error(`refused with ${response.status}: ${content}`);
    rendered.push(await response.text());
  }
  return rendered;
}
"""
"""Renders texts to HTML with the service."""

INSERT = "(texts) => texts.flatMap((html) => window.__insert(html))"

PARSE = """
async (paths) => {
  const found = [];
  for (const path of paths) {
    const response = await fetch(path, {headers: {Accept: "text/html"}});
    const page = new DOMParser().parseFromString(await response.text(), "text/html");
    if (!page.querySelector("main")) found.push(`${path}: no page`);
    found.push(...window.__strangersInPage(page).map((stranger) => `${path}: ${stranger}`));
  }
  return found;
}
"""
"""Parses pages like a browser, without showing them.

A payload that could run would be an element or attribute that no page should have.
"""

SAMPLE = 12
"""One in `SAMPLE` pages is also opened, which takes a hundred times as long as parsing."""


@pytest.fixture(scope="session")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A separate service, because hostile titles would appear in the lists of other tests."""
    # Lists show posts whose documents are elsewhere, too: anybody can write their titles.
    given = {"DEV_RPC_PORT": str(free_port()), "CHAIN_FOLLOW_SECONDS": "0.2", "SHOW": "all"}
    with running(Service(tmp_path_factory.mktemp("dev"), given, "dev")) as opened:
        yield opened


@pytest.fixture(scope="session")
def chain(service: Service) -> Chain:
    return find_chain(service.url)


@dataclass(slots=True)
class Watched:
    """A browser that records executed scripts, external loads and opened dialogs."""

    opened: Opened
    found: list[str] = field(default_factory=list)

    @property
    def page(self) -> Page:
        return self.opened.page

    def attach(self) -> None:
        context = self.opened.context
        context.add_init_script(INSPECTION)
        # Not the bound method: Playwright sets attributes on its object, which has slots.
        context.route(lambda url: not self._is_ours(url), lambda route: self._refuse(route))  # noqa: PLW0108
        self.page.on("dialog", lambda dialog: self._note(f"a dialog: {dialog.message}", dialog))
        context.on("page", lambda page: self.found.append(f"another page: {page.url}"))

    def visit(self, path: str) -> Page:
        """Open a page and inspect it."""
        self.page.goto(self.opened.url + path)
        self.inspect(path)
        return self.page

    def read(self, paths: Sequence[str]) -> None:
        """Inspect all pages without opening them, then open and inspect a sample."""
        self.page.goto(f"{self.opened.url}/library")
        self.found += self.page.evaluate(PARSE, paths)
        for path in paths[::SAMPLE]:
            self.visit(path)

    def inspect(self, name: str) -> None:
        """Inspect the page in its current state."""
        self.page.wait_for_function(PICTURES)
        strangers = self.page.evaluate("window.__strangersInPage()")
        text = self.page.locator("#text")
        if text.count():
            strangers += text.evaluate("(text) => window.__strangersInText(text)")
        ran = self.page.evaluate("window.__ran")
        self.found += [f"{name}: {each}" for each in (*strangers, *ran, *self.opened.problems())]

    def _is_ours(self, url: str) -> bool:
        return url.startswith((self.opened.url, "http://127.0.0.1:", "data:", "blob:"))

    def _refuse(self, route: Route) -> None:
        self.found.append(f"a request to {route.request.url}")
        route.abort()

    def _note(self, text: str, dialog: Any) -> None:
        self.found.append(text)
        dialog.dismiss()


Watch = Callable[..., Watched]


@pytest.fixture
def watch(open_page: OpenPage) -> Iterator[Watch]:
    """Open a browser for hostile pages. The test fails if the browser records anything."""
    everyone: list[Watched] = []

    def watch_one(wallet: BrowserWallet | None = None, **options: Any) -> Watched:
        watched = Watched(open_page(wallet, **options))
        watched.attach()
        everyone.append(watched)
        return watched

    yield watch_one
    assert [each for watched in everyone for each in watched.found] == []


@pytest.fixture
def token(service: Service, new_account: NewAccount) -> str:
    """A session token, required for rendering previews."""

    async def log_in(imprint: Imprint, wallet: KeyWallet) -> str:
        return (await imprint.login(wallet)).token

    return elsewhere(service.url, new_account(), log_in)


def test_the_inspection_detects_executed_scripts(open_page: OpenPage) -> None:
    opened = open_page(bypass_csp=True)
    watched = Watched(opened)
    watched.attach()
    page = opened.visit("/library")
    hostile = "<img src=x onerror=alert(1)><iframe src=https://evil.example/></iframe>"
    strangers = page.evaluate("(html) => window.__insert(html)", hostile)
    page.wait_for_function("() => window.__ran.length === 2")
    wait_until(page, lambda: len(watched.found) >= 2)
    assert len([each for each in strangers if "attribute onerror" in each]) == 2
    assert len([each for each in strangers if each.startswith("element: <iframe")]) == 2
    assert watched.found == ["a request to https://evil.example/"] * 2
    parsed = (
        "(html) => window.__strangersInPage(new DOMParser().parseFromString(html, 'text/html'))"
    )
    assert any("attribute onerror" in each for each in page.evaluate(parsed, hostile))
    assert any("element: <iframe" in each for each in page.evaluate(parsed, hostile))


def test_the_policy_reports_blocked_scripts(open_page: OpenPage) -> None:
    opened = open_page()
    opened.expected = True
    watched = Watched(opened)
    watched.attach()
    page = opened.visit("/library")
    page.evaluate("(html) => window.__insert(html)", "<img src=x onerror=alert(1)>")
    page.wait_for_function("() => window.__violations.length > 0")
    assert page.evaluate("window.__ran") == []


@pytest.mark.parametrize("document", DOCUMENTS)
@pytest.mark.parametrize("corpus", CORPORA)
def test_a_hostile_text_executes_no_scripts(
    watch: Watch, token: str, corpus: str, document: str
) -> None:
    contents = [DOCUMENTS[document](each.text) for each in CORPORA[corpus]()]
    strict, without_policy = watch(), watch(bypass_csp=True)
    texts = strict.visit("/library").evaluate(RENDER, [token, contents])
    without_policy.visit("/library")
    for watched in (strict, without_policy):
        page = watched.page
        assert page.evaluate(INSERT, texts) == []
        page.wait_for_function(PICTURES)
        assert page.evaluate("window.__ran") == []
        assert watched.opened.problems() == []


@pytest.mark.parametrize("write", [markdown_of, blocks_of], ids=["markdown", "blocks"])
def test_the_page_of_a_free_post_executes_no_scripts(
    watch: Watch, service: Service, write: Callable[[list[Payload]], str]
) -> None:
    posts = [
        NewPost(f"Batch {number}", write(batch), picture_name=" ".join(batch[0].text.split()))
        for number, batch in enumerate(batches(everything(), 25))
    ]
    first, *others = publish(service.url, posts)
    watch().visit(f"/p/{first}")
    watched = watch(bypass_csp=True)
    for post_id in (first, *others):
        page = watched.visit(f"/p/{post_id}")
        assert page.locator("#text").inner_text().strip() != ""


@pytest.mark.parametrize("write", [markdown_of, blocks_of], ids=["markdown", "blocks"])
def test_a_bought_text_executes_no_scripts(
    watch: Watch,
    service: Service,
    new_wallet: NewWallet,
    write: Callable[[list[Payload]], str],
) -> None:
    (post_id,) = publish(service.url, [NewPost("Paid", write(list(evasion())), price=10**15)])
    wallet = new_wallet()
    buy(service.url, post_id, wallet.account)
    watched = watch(wallet)
    page = watched.visit(f"/p/{post_id}")
    page.locator("#account").get_by_role("button", name="Sign in").click()
    page.get_by_role("dialog").get_by_role("button", name="Test Wallet").click()
    page.locator("#text > *").first.wait_for(state="attached", timeout=60_000)
    watched.inspect("the bought text")


@pytest.fixture(scope="session")
def foreign_posts(service: Service) -> list[str]:
    """Posts created only on the chain, with payloads in all fields."""
    short = [each.text for each in everything() if each.size <= 100 and each.text.strip()]
    long = [each.text for each in everything() if each.size <= 500]
    posts = [
        ForeignPost(
            title,
            f"{number} {long[number % len(long)]}",
            long[-number % len(long)] or "x",
            long[number % len(long)],
            hashtags=[short[(number * 10 + place) % len(short)] for place in range(10)],
        )
        for number, title in enumerate(short[::2])
    ]
    return create_on_chain(service.url, posts)


FILE_NAMES = (
    '"><img src=x onerror=alert(1)>.png',
    "![x](javascript:alert(1)).png",
    "](javascript:alert(1))[x.png",
    "<script>alert(1)<script>.png",
    "\n\n<iframe src=javascript:alert(1)>\n.png",
)

PASTE = """
async (name) => {
  const canvas = document.createElement("canvas");
  const blob = await new Promise((resolve) => canvas.toBlob(resolve, "image/png"));
  const clipboardData = new DataTransfer();
  clipboardData.items.add(new File([blob], name, {type: "image/png"}));
  const paste = new ClipboardEvent("paste", {clipboardData, bubbles: true, cancelable: true});
  document.querySelector(".cm-content").dispatchEvent(paste);
}
"""
"""Pastes a picture from a file with the given name."""


def test_hostile_file_names_execute_no_scripts_in_the_studio(
    watch: Watch, service: Service
) -> None:
    watched = watch()
    page = watched.page
    STATES["studio"](page, Place(service.url, "", ""))
    for number, name in enumerate(FILE_NAMES, 1):
        page.evaluate(PASTE, name)
        pictures = page.locator(".preview .text img")
        expect(pictures).to_have_count(number)
    preview = page.locator(".preview .text")
    assert preview.evaluate("(text) => window.__strangersInText(text)") == []
    assert page.evaluate("window.__ran") == []
    assert watched.opened.problems() == []


def test_the_page_of_a_post_with_a_hostile_title_executes_no_scripts(
    watch: Watch, foreign_posts: list[str]
) -> None:
    watch(bypass_csp=True).read([f"/p/{post_id}" for post_id in foreign_posts])


def test_a_hostile_title_is_shown_literally(watch: Watch, service: Service) -> None:
    title = "<img src=x onerror=alert(1)> & </title>"
    (post_id,) = create_on_chain(service.url, [ForeignPost(title, "no cid", "x", title)])
    page = watch().visit(f"/p/{post_id}")
    assert page.locator("h1").inner_text() == title
    assert page.locator(".lede").inner_text() == title
    assert page.title().startswith(title)


def test_lists_with_hostile_titles_execute_no_scripts(
    watch: Watch, foreign_posts: list[str]
) -> None:
    strict, watched = watch(), watch(bypass_csp=True)
    page = strict.visit("/")
    author = page.locator(".card a[href^='/a/']").first.get_attribute("href")
    seen = 0
    for path in ("/", author, "/search?q=alert"):
        strict.visit(path)
        following: str | None = path
        while following is not None:
            page = watched.visit(following)
            seen += page.locator(".card").count()
            link = page.locator("a[rel=next]")
            following = link.get_attribute("href") if link.count() else None
    assert seen > 2 * len(foreign_posts)


def test_only_hashtags_of_word_characters_are_shown(watch: Watch, foreign_posts: list[str]) -> None:
    watched = watch(bypass_csp=True)
    paths = set()
    for post_id in foreign_posts[::10]:
        page = watched.visit(f"/p/{post_id}")
        paths |= set(page.eval_on_selector_all(".tags a", "(all) => all.map((a) => a.pathname)"))
    assert paths
    for path in sorted(paths):
        assert re.fullmatch(r"/t/\w+", unquote(path))
        assert watched.visit(path).url == watched.opened.url + path


def test_a_hostile_search_query_executes_no_scripts(watch: Watch) -> None:
    paths = [f"/search?q={quote(payload.text[:200])}" for payload in everything()]
    watch(bypass_csp=True).read(paths)


ECHOES = ("/nowhere/", "/t/", "/a/", "/p/", "/?next_page_token=")
"""Path prefixes at which a page echoes or rejects the rest of the address."""


@pytest.mark.parametrize("path", ECHOES)
def test_a_hostile_path_executes_no_scripts(watch: Watch, path: str) -> None:
    paths = [path + quote(payload.text, safe="") for payload in evasion()]
    watch(bypass_csp=True).read(paths)


@pytest.mark.parametrize("path", ["/feeds/posts.atom", "/feeds/posts.json", "/sitemap.xml"])
def test_feeds_with_hostile_titles_execute_no_scripts(
    watch: Watch, foreign_posts: list[str], path: str
) -> None:
    watched = watch(bypass_csp=True)
    page = watched.page
    page.goto(watched.opened.url + path)
    assert page.evaluate("window.__ran") == []
    own = "http://www.w3.org/1999/xhtml"
    scripts = "(own) => document.getElementsByTagNameNS(own, 'script').length"
    assert page.evaluate(scripts, own) == 0
