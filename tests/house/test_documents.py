"""What the pages state and a machine can check."""

import re

from tests.house.sources import ROOT, kept_files, place
from tools.write_tables import update_codes, update_settings

from imprint.domain.errors import Code
from imprint.settings import SETTINGS
from imprint.web.problems import FAILURE, STATUS_OF

CONFIGURATION = ROOT / "docs" / "configuration.md"
ERRORS = ROOT / "docs" / "errors.md"
ROW = re.compile(r"^\| (\d{3}) \| `(\w+)` \| .+\.? \|$", re.MULTILINE)


def test_the_table_of_settings_is_up_to_date():
    page = CONFIGURATION.read_text(encoding="utf-8")
    assert page == update_settings(page), "run: make fix"


def test_every_setting_has_one_name_and_a_sentence():
    assert len({each.name for each in SETTINGS}) == len(SETTINGS)
    assert [each.name for each in SETTINGS if not each.sentence.endswith(".")] == []


def test_every_refusal_is_documented_under_its_status():
    documented = {code: int(status) for status, code in ROW.findall(ERRORS.read_text("utf-8"))}
    assert documented == {code.value: STATUS_OF[code] for code in Code} | {FAILURE: 500}


def test_the_table_of_codes_says_what_the_interface_says():
    page = ERRORS.read_text(encoding="utf-8")
    assert page == update_codes(page), "run: make fix"


def test_every_setting_that_a_page_names_exists():
    known = {each.name for each in SETTINGS} | {"IMPRINT_CONFIG"}
    known |= {f"{name}_FILE" for name in known}
    pages = [path for path in kept_files() if path.suffix == ".md"]
    unknown = {
        (place(path), name)
        for path in pages
        for name in re.findall(r"IMPRINT_[A-Z0-9_]*[A-Z0-9]", path.read_text(encoding="utf-8"))
        if name not in known
    }
    assert unknown == set()


def test_every_make_target_that_a_page_names_exists():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z-]+):", makefile, re.MULTILINE))
    pages = [path for path in kept_files() if path.suffix == ".md"]
    named = {
        (place(path), target)
        for path in pages
        for target in re.findall(
            r"(?:^|[`$;&] ?)make ([a-z-]+)", path.read_text("utf-8"), re.MULTILINE
        )
    }
    assert {(page, target) for page, target in named if target not in targets} == set()


def test_every_link_between_pages_leads_somewhere():
    link = re.compile(r"\]\(([^)#\s]+)[^)]*\)")
    broken = [
        (place(page), target)
        for page in kept_files()
        if page.suffix == ".md"
        for target in link.findall(page.read_text(encoding="utf-8"))
        if "://" not in target and not (page.parent / target).exists()
    ]
    assert broken == []
