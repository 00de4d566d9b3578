"""The settings of `[publication]`: files, links, pages, and refused values."""

import os
from pathlib import Path

import pytest
from tests.settings.environments import REQUIRED, problems_of, read

from imprint.domain.formats.colours import Accent
from imprint.domain.site import FrontPage, OwnPage, SiteIdentity, SiteLink
from imprint.settings import find_changes, read_settings
from imprint.settings.publication import MAX_LINKS, MAX_PAGE, MAX_PAGES, MAX_PICTURE

PNG = b"\x89PNG\r\n\x1a\n" + b"picture"
SVG = b'<?xml version="1.0"?>\n<!-- made by hand --><svg xmlns="http://www.w3.org/2000/svg"/>'
AUTHOR = "0x" + "ab" * 20


def write(folder: Path, name: str, content: str | bytes) -> Path:
    path = folder / name
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def test_a_publication_without_settings_has_the_default_name() -> None:
    assert read().publication.identity == SiteIdentity("Imprint")


def test_a_toml_table_configures_a_publication(tmp_path: Path) -> None:
    write(tmp_path, "pages/about.md", "# About us\n\nWe write.")
    write(tmp_path, "pages/house-rules.md", "# Rules")
    write(tmp_path, "pages/notes.txt", "not a page")
    config = write(
        tmp_path,
        "imprint.toml",
        f"""
        [publication]
        name = "Quills & Co"
        description = "Letters from the coast."
        language = "pt-BR"
        logo = "{write(tmp_path, "logo.svg", SVG)}"
        icon = "{write(tmp_path, "icon.png", PNG)}"
        accent = "#C2185B"
        pages = "{tmp_path / "pages"}"
        footer = "© Quills"
        contact = "mailto:us@quills.example"
        terms = "/house-rules"
        front = "featured"
        featured = [7, 3]
        credit = false

        [publication.navigation]
        "Our code" = "https://quills.example/code"
        About = "/about"
        """,
    )
    identity = read_settings(REQUIRED, config).publication.identity
    assert identity.name == "Quills & Co"
    assert identity.description == "Letters from the coast."
    assert identity.language == "pt-BR"
    assert identity.logo is not None
    assert (identity.logo.content, identity.logo.media_type) == (SVG, "image/svg+xml")
    assert identity.icon is not None
    assert identity.icon.media_type == "image/png"
    assert identity.accent == Accent("#c2185b", "#d5608e")
    assert identity.navigation == (
        SiteLink("Our code", "https://quills.example/code"),
        SiteLink("About", "/about"),
    )
    assert identity.pages == (
        OwnPage("about", "# About us\n\nWe write."),
        OwnPage("house-rules", "# Rules"),
    )
    assert identity.contact == "mailto:us@quills.example"
    assert identity.terms == "/house-rules"
    assert identity.front == FrontPage(None, (7, 3))
    assert not identity.credits_imprint


def test_environment_variables_configure_a_publication() -> None:
    settings = read(
        PUBLICATION_NAVIGATION="Essays /t/essay, Our code https://quills.example",
        PUBLICATION_FRONT=AUTHOR.upper().replace("0X", "0x"),
    ).publication
    assert [each.label for each in settings.navigation] == ["Essays", "Our code"]
    assert settings.identity.front == FrontPage(AUTHOR)


def test_a_setting_given_twice_in_a_file_is_refused(tmp_path: Path) -> None:
    config = write(tmp_path, "imprint.toml", 'publication_name = "A"\n[publication]\nname = "B"\n')
    assert problems_of(CONFIG=str(config)) == [f"publication_name is given twice in {config}."]


def test_all_problems_with_a_publication_are_reported_together(tmp_path: Path) -> None:
    problems = problems_of(
        PUBLICATION_NAME="x" * 65,
        PUBLICATION_LANGUAGE="english please",
        PUBLICATION_LOGO=str(tmp_path / "nothing.png"),
        PUBLICATION_ICON=str(write(tmp_path, "icon.gif", b"GIF89a")),
        PUBLICATION_ACCENT="#ffff00",
        PUBLICATION_NAVIGATION="About",
        PUBLICATION_PAGES=str(tmp_path / "pages"),
        PUBLICATION_CONTACT="javascript:alert(1)",
        PUBLICATION_TERMS="//elsewhere.example",
        PUBLICATION_FRONT="oldest",
        PUBLICATION_FEATURED="seven",
        CHAIN_COIN="a coin",
        CHAIN_EXPLORER_URL="http://explorer.example",
        PORT="eighty",
    )
    names = [problem.split()[0].removeprefix("IMPRINT_") for problem in problems]
    assert set(names) == {
        *("PUBLICATION_NAME", "PUBLICATION_LANGUAGE", "PUBLICATION_LOGO", "PUBLICATION_ICON"),
        *("PUBLICATION_ACCENT", "PUBLICATION_NAVIGATION", "PUBLICATION_PAGES"),
        *("PUBLICATION_CONTACT", "PUBLICATION_TERMS", "PUBLICATION_FRONT", "PUBLICATION_FEATURED"),
        *("CHAIN_COIN", "CHAIN_EXPLORER_URL", "PORT"),
    }
    assert len(names) == len(set(names))


def test_contradictions_are_reported_with_all_other_problems() -> None:
    problems = problems_of(
        PUBLICATION_FRONT="featured", PUBLICATION_NAVIGATION="Us /abuot", PORT="eighty"
    )
    assert [each.split()[0] for each in problems] == [
        "IMPRINT_PORT",
        "IMPRINT_PUBLICATION_FRONT",
        "IMPRINT_PUBLICATION_NAVIGATION",
    ]
    (problem,) = problems_of(PUBLICATION_FEATURED="1,2")
    assert "IMPRINT_PUBLICATION_FRONT is not featured" in problem


@pytest.mark.parametrize("address", ["/t/essay", "/about", "/search?q=x", "/", "/feeds/posts.atom"])
def test_links_may_point_to_every_page(address: str) -> None:
    (link,) = read(PUBLICATION_NAVIGATION=f"Here {address}").publication.navigation
    assert link.address == address


@pytest.mark.parametrize(
    "address",
    ["http://plain.example", "//other.example", "/\\other", "javascript:1", "about", "https://"],
)
def test_links_point_only_to_paths_and_https_urls(address: str) -> None:
    (problem,) = problems_of(PUBLICATION_NAVIGATION=f"Here {address}")
    assert "must be a path like /about or an address that begins with https://" in problem


def test_the_number_of_links_in_the_header_is_limited() -> None:
    links = ", ".join(f"Tag{n} /t/{n}" for n in range(MAX_LINKS + 1))
    (problem,) = problems_of(PUBLICATION_NAVIGATION=links)
    assert f"may have {MAX_LINKS}" in problem


@pytest.mark.parametrize("text", ["Quills\u202e", "Qu\u200bills", "Qu\x07ills"])
def test_a_name_may_not_contain_invisible_characters(text: str) -> None:
    assert "invisible" in problems_of(PUBLICATION_NAME=text)[0]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"GIF89a", "must name a file with a PNG, JPEG, WebP or SVG picture"),
        (b"<html><svg></svg></html>", "must name a file with a PNG, JPEG, WebP or SVG picture"),
        (PNG + b"x" * MAX_PICTURE, "is larger than 256 KiB"),
        (b"", "must name a file"),
    ],
)
def test_a_logo_must_be_a_small_picture(tmp_path: Path, content: bytes, words: str) -> None:
    (problem,) = problems_of(PUBLICATION_LOGO=str(write(tmp_path, "logo.png", content)))
    assert words in problem


def test_a_logo_that_is_a_pipe_is_refused_without_waiting(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (problem,) = problems_of(PUBLICATION_LOGO=str(tmp_path / "pipe"))
    assert "is not a regular file" in problem


def test_an_icon_must_be_a_png_or_svg(tmp_path: Path) -> None:
    path = write(tmp_path, "icon.png", b"\xff\xd8\xff and so on")
    assert "PNG or SVG" in problems_of(PUBLICATION_ICON=str(path))[0]


def test_every_page_that_cannot_be_served_is_named(tmp_path: Path) -> None:
    for name, content in {
        "posts.md": "# Posts",
        "Big Words.md": "# Words",
        "empty.md": " \n",
        "latin.md": b"caf\xe9",
        "large.md": b"x" * (MAX_PAGE + 1),
        "fine.md": "# Fine",
    }.items():
        write(tmp_path, f"pages/{name}", content)
    (tmp_path / "pages/folder.md").mkdir()
    write(tmp_path, "pages/.#fine.md", "of an editor")
    (problem,) = problems_of(PUBLICATION_PAGES=str(tmp_path / "pages"))
    for words in (
        "posts.md would be at /posts, which is another page",
        "Big Words.md must be named with a-z, 0-9 and single hyphens",
        "empty.md is empty",
        "latin.md is not UTF-8",
        "large.md is larger than 256 KiB",
        "folder.md is not a regular file",
    ):
        assert words in problem
    assert "fine.md" not in problem


def test_the_number_of_pages_is_limited(tmp_path: Path) -> None:
    for number in range(MAX_PAGES + 1):
        write(tmp_path, f"pages/p{number}.md", "# Page")
    assert "may have 50" in problems_of(PUBLICATION_PAGES=str(tmp_path / "pages"))[0]


def test_a_changed_page_counts_as_a_changed_setting(tmp_path: Path) -> None:
    write(tmp_path, "pages/about.md", "# Before")
    before = read(PUBLICATION_PAGES=str(tmp_path / "pages"))
    write(tmp_path, "pages/about.md", "# After")
    after = read(PUBLICATION_PAGES=str(tmp_path / "pages"))
    assert find_changes(before, after) == ("IMPRINT_PUBLICATION_PAGES",)


def test_a_public_node_url_never_contains_a_key_of_the_service() -> None:
    own = REQUIRED["IMPRINT_CHAIN_RPC_URL"]
    (problem,) = problems_of(CHAIN_PUBLIC_RPC_URL=own)
    assert "IMPRINT_CHAIN_PUBLIC_RPC_URL has a key of IMPRINT_CHAIN_RPC_URL" in problem
    public = read(CHAIN_RPC_URL="https://rpc.example", CHAIN_PUBLIC_RPC_URL="https://rpc.example/")
    assert public.chain.public_rpc_url == "https://rpc.example"


def test_a_chain_has_a_name_and_a_coin() -> None:
    assert (read().chain.name, read().chain.coin) == ("Chain 1", "ETH")
    named = read(CHAIN_NAME="Gnosis", CHAIN_COIN="xDAI").chain
    assert (named.name, named.coin) == ("Gnosis", "xDAI")
