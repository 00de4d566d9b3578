"""Weak or reused secrets are refused or cause a warning, and no secret is ever printed."""

import pickle

import pytest
from tests.settings.environments import JWT, REQUIRED

from imprint.settings import DEVELOPMENT, Secret, SettingsProblems, read_settings
from imprint.settings.secrets import find_weakness


@pytest.mark.parametrize(
    "text",
    [
        "",
        "x" * 31,
        "changeme-changeme-changeme-please-now",
        "this-is-my-supersecret-text-for-jwt-1234",
        "your-256-bit-key-goes-right-here-0192837465",
        "whsec_short",
    ],
)
def test_a_short_secret_or_a_placeholder_is_weak(text: str):
    assert find_weakness(Secret(text)) is not None


@pytest.mark.parametrize("text", [JWT, "é" * 4 + JWT[:24]])
def test_a_random_text_is_not_weak(text: str):
    assert find_weakness(Secret(text)) is None


@pytest.mark.parametrize("text", ["a" * 32, "0123456789abcdef" * 2])
def test_a_repetitive_secret_causes_a_warning(text: str):
    settings = read_settings(REQUIRED | {"IMPRINT_JWT_SECRET": text})
    assert [warning.split(" that ")[0] for warning in settings.warnings] == [
        "IMPRINT_JWT_SECRET is a repeated pattern"
    ]
    assert text not in str(settings.warnings)


def test_strong_secrets_cause_no_warning():
    assert read_settings(REQUIRED).warnings == ()


@pytest.mark.parametrize("name", ["JWT_SECRET", "WEBHOOK_A_SECRET", "WEBHOOK_B_SECRET"])
def test_a_weak_secret_is_accepted_if_the_check_is_off(name: str):
    given = {f"IMPRINT_{name}": "changeme"}
    settings = read_settings(given, defaults=DEVELOPMENT, check_secrets=False)
    assert "changeme" in settings.secrets
    assert settings.warnings == ()


@pytest.mark.parametrize("own", ["JWT_SECRET", "JWT_SECRET_PREVIOUS", "PAGE_TOKEN_SECRET"])
@pytest.mark.parametrize("shared", ["WEBHOOK_A_SECRET", "WEBHOOK_B_SECRET"])
def test_the_services_secrets_must_differ_from_those_of_webhook_providers(own: str, shared: str):
    given = {f"IMPRINT_{own}": JWT[::-1], f"IMPRINT_{shared}": JWT[::-1]}
    with pytest.raises(SettingsProblems) as raised:
        read_settings(REQUIRED | given)
    assert raised.value.problems == [
        f"IMPRINT_{shared} is the same as IMPRINT_{own}, and the provider of deliveries knows it."
    ]


def test_using_one_secret_for_two_providers_causes_a_warning():
    given = dict.fromkeys(("IMPRINT_WEBHOOK_A_SECRET", "IMPRINT_WEBHOOK_B_SECRET"), JWT[::-1])
    assert read_settings(REQUIRED | given).warnings == (
        "IMPRINT_WEBHOOK_B_SECRET is the same as IMPRINT_WEBHOOK_A_SECRET;"
        " every secret should be different.",
    )


def test_a_secret_may_equal_its_previous_value():
    assert read_settings(REQUIRED | {"IMPRINT_JWT_SECRET_PREVIOUS": JWT}).warnings == ()


def test_a_secret_is_never_printed():
    secret = Secret(JWT)
    assert JWT not in f"{secret} {secret!r} {secret!s} {secret:>40} {[secret]}"


def test_a_secret_cannot_be_pickled():
    with pytest.raises(TypeError):
        pickle.dumps(Secret(JWT))


def test_no_reported_problem_quotes_a_secret():
    given = {"IMPRINT_JWT_SECRET": "hunter2", "IMPRINT_CHAIN_RPC_URL": "ftp://node/hunter2"}
    with pytest.raises(SettingsProblems) as raised:
        read_settings(REQUIRED | given)
    assert "hunter2" not in str(raised.value)


def test_a_secret_issued_by_a_provider_may_be_shorter():
    text = "whsec_9f3hQ2mLzX7kVb1Tg8Rp"
    assert find_weakness(Secret(text), issued=True) is None
    assert find_weakness(Secret(text)) == "is 26 bytes long; it must have at least 32"
