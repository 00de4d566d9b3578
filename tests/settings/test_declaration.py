"""A setting is declared once, as a field of a group."""

from dataclasses import dataclass, field

import pytest

from imprint.settings.declaration import (
    Setting,
    SettingsProblems,
    declared_in,
    optional,
    setting,
)


@dataclass(frozen=True, slots=True)
class Harbour:
    """A group of settings for the tests."""

    name: str = setting("HARBOUR_NAME", "The name.", str)
    berths: int = setting("BERTHS", "How many ships fit in.", int, "12")
    password: str = setting("PASSWORD", "The password.", str, secret=True)
    pilot: str | None = optional("PILOT", "The pilot.", str)
    code: str | None = optional("CODE", "The code.", str, secret=True)
    tide: int = field(default=0)


DECLARED = declared_in(Harbour)


def test_a_group_declares_its_settings_by_field_name_in_order():
    assert list(DECLARED) == ["name", "berths", "password", "pilot", "code"]


def test_a_declaration_stores_its_description_parser_and_default_text():
    assert DECLARED["berths"] == Setting(
        "IMPRINT_BERTHS", "How many ships fit in.", int, "12", required=False, secret=False
    )


def test_only_a_setting_without_a_default_is_required():
    required = [name for name, each in DECLARED.items() if each.required]
    assert required == ["name", "password"]


def test_an_optional_setting_has_no_default():
    assert DECLARED["pilot"].default is None


def test_only_settings_declared_secret_are_secret():
    assert [name for name, each in DECLARED.items() if each.secret] == ["password", "code"]


@pytest.mark.parametrize(
    ("name", "key"), [("name", "harbour_name"), ("berths", "berths"), ("code", "code")]
)
def test_the_key_in_a_file_is_the_lower_case_name_without_the_prefix(name: str, key: str):
    assert DECLARED[name].key == key


def test_a_group_cannot_be_created_without_every_declared_setting():
    with pytest.raises(TypeError, match="berths"):
        Harbour(name="Rye")


def test_problems_are_printed_one_per_line():
    problems = SettingsProblems(["IMPRINT_A is missing.", "IMPRINT_B is missing."])
    assert str(problems) == "IMPRINT_A is missing.\nIMPRINT_B is missing."
    assert problems.problems == ["IMPRINT_A is missing.", "IMPRINT_B is missing."]
