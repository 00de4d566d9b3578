"""Statements of the documentation that a machine can check."""

import re
from pathlib import Path
from typing import Any

from tests.house.sources import SOURCE, kept_files, place
from tools.files import ROOT
from tools.write_records import RECORDS_FILE, update_records
from tools.write_tables import (
    update_codes,
    update_commands,
    update_metrics,
    update_settings,
    update_suites,
)

from imprint.domain.errors import Code
from imprint.interface.problems import FAILURE
from imprint.marketplace import artifact
from imprint.settings import SETTINGS
from imprint.web.http.problems import STATUS_OF

CONFIGURATION = ROOT / "docs" / "configuration.md"
ERRORS = ROOT / "docs" / "errors.md"
COMMANDS = ROOT / "docs" / "commands.md"
MONITORING = ROOT / "docs" / "monitoring.md"
PROXIES = (ROOT / "deploy/caddy/Caddyfile", ROOT / "deploy/haproxy/haproxy.cfg")
CONTRIBUTING = ROOT / "CONTRIBUTING.md"
PATH = re.compile(r"`((?:[\w.-]+/)+[\w.-]*|[\w-]+\.py)`")
ROW = re.compile(r"^\| (\d{3}) \| `(\w+)` \| .+\.? \|$", re.MULTILINE)


def _pages() -> list[Path]:
    return [path for path in kept_files() if path.suffix == ".md"]


def test_the_table_of_settings_is_up_to_date():
    page = CONFIGURATION.read_text(encoding="utf-8")
    assert page == update_settings(page), "run: make fix"


def test_every_setting_has_its_own_name_and_a_sentence():
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


def test_the_table_of_suites_is_up_to_date():
    page = CONTRIBUTING.read_text(encoding="utf-8")
    assert page == update_suites(page), "run: make fix"


def test_the_records_of_the_typescript_client_are_up_to_date():
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


def test_every_link_between_pages_has_a_target():
    link = re.compile(r"\]\(([^)#\s]+)[^)]*\)")
    broken = [
        (place(page), target)
        for page in _pages()
        for target in link.findall(page.read_text(encoding="utf-8"))
        if "://" not in target and not (page.parent / target).exists()
    ]
    assert broken == []


def test_every_picture_is_shown_in_a_page():
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
    """A function or event with the names of its parameters, as the page spells it."""

    def write(part: dict[str, Any]) -> str:
        if part["type"] != "tuple":
            indexed = " indexed" if part.get("indexed") else ""
            return f"{part['type']}{indexed} {part['name']}"
        return f"({', '.join(map(write, part['components']))})"

    return f"{entry['name']}({', '.join(map(write, entry['inputs']))})"


def test_every_path_named_for_contributors_exists():
    named = PATH.findall(CONTRIBUTING.read_text(encoding="utf-8"))
    assert named
    assert [name for name in named if not _exists(name)] == []


def _exists(name: str) -> bool:
    return any((folder / name).exists() for folder in (ROOT, SOURCE))
