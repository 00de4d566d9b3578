"""Statements in the documentation that can be checked automatically."""

import re
from functools import cache
from pathlib import Path
from typing import Any

from tests.house.sources import SOURCE, kept_files, place, script_files
from tools.files import ROOT
from tools.write_records import RECORDS_FILE, update_records
from tools.write_tables import (
    update_bugs,
    update_codes,
    update_commands,
    update_metrics,
    update_results,
    update_settings,
    update_suites,
)

from imprint.domain.errors import Code
from imprint.interface.problems import FAILURE
from imprint.marketplace import artifact
from imprint.settings import SETTINGS
from imprint.web.http.problems import STATUS_OF

BUGS = ROOT / "docs" / "bugs.md"
CONFIGURATION = ROOT / "docs" / "configuration.md"
ERRORS = ROOT / "docs" / "errors.md"
COMMANDS = ROOT / "docs" / "commands.md"
MONITORING = ROOT / "docs" / "monitoring.md"
PROXIES = (ROOT / "deploy/caddy/Caddyfile", ROOT / "deploy/haproxy/haproxy.cfg")
CONTRIBUTING = ROOT / "CONTRIBUTING.md"
INDEX = ROOT / "docs" / "README.md"
SUITES = ROOT / "docs" / "contributing" / "tests.md"
TRUST = ROOT / "docs" / "trust.md"
FOR_CONTRIBUTORS = (CONTRIBUTING, SUITES, ROOT / "docs" / "contributing" / "flows.md")
PATH = re.compile(r"`((?:[\w.-]+/)+[\w.-]*|[\w-]+\.py)`")
ROW = re.compile(r"^\| (\d{3}) \| `(\w+)` \| .+\.? \|$", re.MULTILINE)


def _pages() -> list[Path]:
    return [path for path in kept_files() if path.suffix == ".md"]


def test_the_table_of_settings_is_up_to_date():
    page = CONFIGURATION.read_text(encoding="utf-8")
    assert page == update_settings(page), "run: make fix"


def test_every_setting_has_a_unique_name_and_a_one_sentence_description():
    assert len({each.name for each in SETTINGS}) == len(SETTINGS)
    assert [each.name for each in SETTINGS if not each.sentence.endswith(".")] == []


def test_every_error_code_is_documented_with_its_status():
    documented = {code: int(status) for status, code in ROW.findall(ERRORS.read_text("utf-8"))}
    assert documented == {code.value: STATUS_OF[code] for code in Code} | {FAILURE: 500}


def test_the_table_of_error_codes_is_up_to_date():
    page = ERRORS.read_text(encoding="utf-8")
    assert page == update_codes(page), "run: make fix"


def test_the_list_of_commands_is_up_to_date():
    page = COMMANDS.read_text(encoding="utf-8")
    assert page == update_commands(page), "run: make fix"


def test_the_table_of_metrics_is_up_to_date():
    page = MONITORING.read_text(encoding="utf-8")
    assert page == update_metrics(page), "run: make fix"


def test_the_table_of_results_is_up_to_date():
    page = TRUST.read_text(encoding="utf-8")
    assert page == update_results(page), "run: make fix"


def test_the_table_of_suites_is_up_to_date():
    page = SUITES.read_text(encoding="utf-8")
    assert page == update_suites(page), "run: make fix"


def test_the_tables_of_bugs_are_up_to_date():
    page = BUGS.read_text(encoding="utf-8")
    assert page == update_bugs(page), "run: make fix"


def test_the_record_types_of_the_typescript_client_are_up_to_date():
    source = RECORDS_FILE.read_text(encoding="utf-8")
    assert source == update_records(source), "run: make fix"


def test_every_setting_named_in_a_page_exists():
    known = {each.name for each in SETTINGS} | {"IMPRINT_CONFIG"}
    # Variables of the proxies, and not of the service.
    known |= {
        name
        for file in PROXIES
        for name in re.findall(r"\{?\$\{?(IMPRINT_[A-Z_]+)", file.read_text(encoding="utf-8"))
    }
    known |= {f"{name}_FILE" for name in known}
    unknown = {
        (place(path), name)
        for path in _pages()
        for name in re.findall(r"IMPRINT_[A-Z0-9_]*[A-Z0-9]", path.read_text(encoding="utf-8"))
        if name not in known
    }
    assert unknown == set()


def test_every_make_target_named_in_a_page_exists():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z0-9-]+):", makefile, re.MULTILINE))
    named = {
        (place(path), target)
        for path in _pages()
        for target in re.findall(
            r"(?:^|[`$;&] ?)make ([a-z0-9-]+)", path.read_text("utf-8"), re.MULTILINE
        )
    }
    assert {(page, target) for page, target in named if target not in targets} == set()


def test_every_link_between_pages_resolves():
    broken = [
        (place(page), place(target), anchor)
        for page in _pages()
        for target, anchor in _links_in(page)
        if not target.exists() or (anchor and anchor not in _anchors_in(target))
    ]
    assert broken == []


def test_every_page_named_in_a_file_exists_with_its_heading():
    named = re.compile(r"\bdocs/[\w/-]+\.md(?:#[\w-]+)?")
    missing = [
        (place(path), name)
        for path in kept_files()
        if path.is_relative_to(SOURCE) or path.is_relative_to(ROOT / "deploy")
        if "assets" not in path.parts
        for name in named.findall(path.read_text(encoding="utf-8"))
        if not _has_heading(*name.partition("#")[::2])
    ]
    assert missing == []


def _has_heading(name: str, anchor: str) -> bool:
    page = ROOT / name
    return page.exists() and (not anchor or anchor in _anchors_in(page))


def _links_in(page: Path) -> list[tuple[Path, str]]:
    """The project files that a page links to, each with the anchor after `#`, or ""."""
    links = re.findall(r"\]\(([^)#\s]*)(?:#([^)\s]*))?[^)]*\)", page.read_text(encoding="utf-8"))
    return [
        ((page.parent / target).resolve() if target else page, anchor)
        for target, anchor in links
        if "://" not in target and not target.startswith("mailto:")
    ]


@cache
def _anchors_in(page: Path) -> set[str]:
    """The anchors of a page's headings, as repository hosts derive them."""
    text = re.sub(r"(?ms)^```.*?^```", "", page.read_text(encoding="utf-8"))
    headings = re.findall(r"(?m)^#+ (.+)$", text)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_every_page_is_listed_in_an_index():
    indexes = (INDEX, INDEX.parent / "decisions" / "README.md")
    listed = {target for index in indexes for target, _ in _links_in(index)} | {INDEX}
    pages = [path for path in _pages() if path.is_relative_to(INDEX.parent)]
    assert [place(path) for path in pages if path not in listed] == []


def test_the_pages_for_newcomers_are_short():
    def count_lines(page: Path) -> int:
        return len(page.read_text(encoding="utf-8").splitlines())

    assert count_lines(ROOT / "README.md") < 100
    assert count_lines(CONTRIBUTING) < 120
    map_ = CONTRIBUTING.read_text(encoding="utf-8").partition("| looking for | open |")[2]
    assert 10 < len(re.findall(r"^\| ", map_, re.MULTILINE)) <= 30


def test_every_picture_of_the_docs_is_shown_on_a_page():
    pages = "\n".join(path.read_text(encoding="utf-8") for path in _pages())
    pictures = [path.name for path in kept_files() if path.parent == ROOT / "docs" / "pictures"]
    assert pictures
    assert [name for name in pictures if f"pictures/{name}" not in pages] == []


def test_the_page_about_the_contract_agrees_with_its_abi():
    page = (ROOT / "docs" / "contract.md").read_text(encoding="utf-8")
    plumbing = re.compile(
        r"ERC6909|MAX_|Approval|OperatorSet|allowance|isOperator|supports|OnlyAuth"
    )
    own = [entry for entry in artifact().abi if not plumbing.match(entry["name"])]
    assert [entry["name"] for entry in own if f"`{entry['name']}" not in page] == []
    called = ("createPost", "subscribePost", "updatePostPrice")
    written = [entry for entry in own if entry["type"] == "event" or entry["name"] in called]
    assert [_signature(entry) for entry in written if f"`{_signature(entry)}`" not in page] == []


def _signature(entry: dict[str, Any]) -> str:
    """A function or event with its parameter names, as the page spells it."""

    def write(part: dict[str, Any]) -> str:
        if part["type"] != "tuple":
            indexed = " indexed" if part.get("indexed") else ""
            return f"{part['type']}{indexed} {part['name']}"
        return f"({', '.join(map(write, part['components']))})"

    return f"{entry['name']}({', '.join(map(write, entry['inputs']))})"


def test_every_key_that_the_pages_store_is_documented():
    page = (ROOT / "docs" / "site.md").read_text(encoding="utf-8")
    scripts = [
        path.read_text(encoding="utf-8")
        for path in script_files()
        if path.is_relative_to(ROOT / "site")
    ]
    kept = re.compile(r"""["`](imprint\.[a-z.-]+)|BrowserDatabase\("(imprint[a-z-]*)""")
    keys = {key or name for text in scripts for key, name in kept.findall(text)}
    assert {"imprint.session", "imprint.purchase.", "imprint-versions"} <= keys
    assert {key for key in keys if f"`{key}" not in page} == set()


def test_every_path_named_for_contributors_exists():
    for page in FOR_CONTRIBUTORS:
        named = PATH.findall(page.read_text(encoding="utf-8"))
        assert named
        assert [name for name in named if not _exists(name)] == []


def _exists(name: str) -> bool:
    return any((folder / name).exists() for folder in (ROOT, SOURCE))
