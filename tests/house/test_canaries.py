"""Every secret setting has a canary, and every setting that looks secret is declared so."""

import re
from dataclasses import fields

from tests.canaries import CANARIES, MARK

from imprint.settings import SETTINGS, Secret
from imprint.settings.values import GROUPS

SECRET_WORDS = re.compile(r"SECRET|KEY|TOKEN|PASSWORD|JWT|AUTHORIZATION|CREDENTIAL")
NOT_SECRET: set[str] = set()
"""Settings with such a word in their name whose value anybody may see."""


def test_every_secret_setting_has_a_canary():
    # A new secret setting needs a canary in tests/canaries.py, so that the whole suite looks for
    # it.
    secret = {each.name.removeprefix("IMPRINT_") for each in SETTINGS if each.secret}
    assert CANARIES.keys() == secret
    assert all(MARK in text for text in CANARIES.values())
    assert len({*CANARIES.values()}) == len(CANARIES)


def test_a_setting_that_looks_like_a_secret_is_declared_as_one():
    plain = [each.name for each in SETTINGS if not each.secret]
    assert {name for name in plain if SECRET_WORDS.search(name)} == NOT_SECRET
    secret = {each.name for each in SETTINGS if each.secret}
    held = {
        each.metadata["setting"].name
        for group in GROUPS.values()
        for each in fields(group)
        if Secret.__name__ in str(each.type)
    }
    assert held <= secret
