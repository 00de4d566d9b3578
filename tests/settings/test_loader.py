"""Sources of settings, their precedence, and the problems reported."""

from pathlib import Path

import pytest
from tests.settings.environments import JWT, KEY, MARKETPLACE, PINATA, REQUIRED, problems_of, read

from imprint.settings import (
    DEVELOPMENT,
    Compatibility,
    EmbeddedContent,
    KuboContent,
    PinataContent,
    PostgresqlDatabase,
    Secret,
    SettingsProblems,
    SqliteDatabase,
    read_settings,
)
from imprint.settings.loader import edit_distance


def write_config(folder: Path, text: str) -> Path:
    path = folder / "imprint.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_the_four_required_settings_are_sufficient():
    settings = read()
    assert settings.server.port == 8000
    assert settings.chain.id == 1
    assert settings.storage.database == SqliteDatabase(Path("data/imprint.db"))
    assert settings.storage.content == EmbeddedContent()
    assert settings.limits.content_bytes == 4 * 1024 * 1024


def test_compatibility_mode_raises_the_content_limit_and_the_body_timeout():
    limits = read(COMPATIBILITY="InkDAO").limits
    assert limits.content_bytes == 16 * 1024 * 1024
    assert limits.body_seconds == 60


def test_explicit_limits_override_those_of_compatibility_mode():
    limits = read(COMPATIBILITY="inkdao", MAX_CONTENT_BYTES="1000", BODY_TIMEOUT_SECONDS="9").limits
    assert (limits.content_bytes, limits.body_seconds) == (1000, 9)


def test_an_unknown_compatibility_mode_is_refused():
    assert read(COMPATIBILITY="").server.compatibility is Compatibility.NONE
    (problem,) = problems_of(COMPATIBILITY="medium")
    assert "must be one of: none, inkdao" in problem


def test_all_missing_settings_are_reported_together():
    with pytest.raises(SettingsProblems) as raised:
        read_settings({})
    names = [problem.split()[0] for problem in raised.value.problems]
    assert names == list(REQUIRED)


def test_all_problems_are_reported_together():
    problems = problems_of(PORT="eighty", CHAIN_ID="0", JWT_SECRET="short", HOTS="x")
    assert len(problems) == 4


@pytest.mark.parametrize(
    "name",
    [
        "SERVICE_HOST",
        "SERVICE_PORT",
        "PORT_8000_TCP",
        "PORT_8000_TCP_ADDR",
        "BASE_URL",
        "VERSION",
        "LOG",
        "X_FILE",
    ],
)
def test_an_unknown_name_causes_only_a_warning(name: str):
    settings = read(**{name: "tcp://10.0.0.1:8000"})
    assert settings.warnings == (f"IMPRINT_{name} is not a setting and is ignored.",)


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("HOTS", "HOST"),
        ("WORKER", "WORKERS"),
        ("JWT_SECRETS", "JWT_SECRET"),
        ("JWT_SECERT_FILE", "JWT_SECRET_FILE"),
        ("CORS_ORIGIN", "CORS_ORIGINS"),
        ("RATE_LIMIT", "RATE_LIMITS"),
        ("WEBHOOK_A_SECERT", "WEBHOOK_A_SECRET"),
    ],
)
def test_a_misspelled_name_is_an_error_with_a_suggestion(name: str, meant: str):
    assert problems_of(**{name: "x"}) == [
        f"IMPRINT_{name} is not a setting. Did you mean IMPRINT_{meant}?"
    ]


def test_the_environment_overrides_the_file(tmp_path: Path):
    config = write_config(tmp_path, "port = 9000\nhost = '::1'\n")
    settings = read_settings(REQUIRED | {"IMPRINT_PORT": "9001"}, config)
    assert (settings.server.host, settings.server.port) == ("::1", 9001)


def test_an_option_overrides_the_environment():
    settings = read_settings(REQUIRED | {"IMPRINT_PORT": "1"}, options={"IMPRINT_PORT": "2"})
    assert settings.server.port == 2


def test_the_settings_file_can_be_named_in_the_environment(tmp_path: Path):
    config = write_config(tmp_path, "public_drafts = true\ncors_origins = ['https://a.example']\n")
    settings = read_settings(REQUIRED | {"IMPRINT_CONFIG": str(config)})
    assert settings.retention.public_drafts
    assert settings.server.cors_origins == ("https://a.example",)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("prot = 1", "prot is not a setting. Did you mean port?"),
        ("base_url = 'x'", "base_url is not a setting."),
        ("port = ", "is not TOML"),
        ("[server]\nport = 1", "server_port is not a setting."),
        ("port = 2026-01-01", "must be a text, number, switch or list"),
    ],
)
def test_a_problem_in_the_file_is_reported(tmp_path: Path, text: str, expected: str):
    with pytest.raises(SettingsProblems, match=expected.replace("?", r"\?")):
        read_settings(REQUIRED, write_config(tmp_path, text))


def test_a_missing_file_is_reported(tmp_path: Path):
    with pytest.raises(SettingsProblems, match="cannot be read: no such file"):
        read_settings(REQUIRED, tmp_path / "nothing.toml")


def test_a_secret_may_be_read_from_a_file(tmp_path: Path):
    secret = tmp_path / "jwt"
    secret.write_text(JWT + "\n", encoding="utf-8")
    given = {name: text for name, text in REQUIRED.items() if name != "IMPRINT_JWT_SECRET"}
    settings = read_settings(given | {"IMPRINT_JWT_SECRET_FILE": str(secret)})
    assert settings.sessions.jwt_secret == Secret(JWT)


def test_a_setting_cannot_be_given_both_directly_and_as_a_file():
    assert "are both set" in problems_of(JWT_SECRET_FILE="/anywhere")[0]


def test_an_empty_value_counts_as_not_given():
    assert read(WEBHOOK_A_SECRET="", PORT="").webhooks.a_secret is None
    assert problems_of(JWT_SECRET="")[0].startswith("IMPRINT_JWT_SECRET is missing")
    assert read(WEBHOOK_A_SECRET_FILE=" ").webhooks.a_secret is None


@pytest.mark.parametrize("order", [1, -1])
def test_an_empty_value_does_not_replace_the_settings_file_or_a_file(tmp_path: Path, order: int):
    config, secret = tmp_path / "imprint.toml", tmp_path / "jwt"
    config.write_text('signing_name = "Example Press"\n', encoding="utf-8")
    secret.write_text(JWT, encoding="utf-8")
    empty = {
        "IMPRINT_SIGNING_NAME": "",
        "IMPRINT_JWT_SECRET": "",
        "IMPRINT_JWT_SECRET_FILE": str(secret),
    }
    given = dict([*(REQUIRED | empty).items()][::order])
    settings = read_settings(given, config)
    assert settings.signing.name == "Example Press"
    assert settings.sessions.jwt_secret == Secret(JWT)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("PORT", "65536"),
        ("PORT", "8_0"),
        ("PORT", "٨٠"),
        ("HOST", "a b"),
        ("CHAIN_ID", "-1"),
        ("CHAIN_TIMEOUT_SECONDS", "nan"),
        ("CHAIN_TIMEOUT_SECONDS", "1e1"),
        ("MARKETPLACE_ADDRESS", "0x1234"),
        ("MARKETPLACE_ADDRESS", "0x" + "0" * 40),
        ("MARKETPLACE_ADDRESS", "0x5fBdb2315678afecb367f032d93f642f64180aa3"),
        ("CHAIN_RPC_URL", "ws://node"),
        ("CHAIN_RPC_URL", "https://"),
        ("CHAIN_RPC_URL", "https://node:port"),
        ("CHAIN_RPC_URL", ","),
        ("PUBLIC_URL", "https://example.org/path"),
        ("LOGIN_DOMAINS", "https://example.org"),
        ("CORS_ORIGINS", "example.org"),
        ("SECURITY_CONTACT", "safety@example.org"),
        ("SECURITY_CONTACT", "mailto:nobody"),
        ("SECURITY_CONTACT", "http://example.org"),
        ("SECURITY_CONTACT", "https://example.org/a b"),
        ("TRUSTED_PROXIES", "proxy.example"),
        ("DATABASE_URL", "mysql://x"),
        ("DATABASE_URL", "sqlite:///"),
        ("CONTENT_STORE", "kubo"),
        ("CONTENT_STORE", "kubo:localhost"),
        ("CONTENT_STORE", "kubo:http://user:password@127.0.0.1:5001"),
        ("KUBO_AUTHORIZATION", "token"),
        ("KUBO_AUTHORIZATION", "bearer:"),
        ("KUBO_AUTHORIZATION", "basic:user"),
        ("KUBO_AUTHORIZATION", "digest:user:password"),
        ("PINATA_GATEWAY", "https://gateway.example/ipfs"),
        ("PINATA_API_URL", "api.pinata.cloud"),
        ("PINATA_UPLOAD_URL", "https://uploads.example/v3?x=1"),
        ("RATE_LOGINS", "0/5"),
        ("RATE_LIMITS", "maybe"),
        ("LOG_FORMAT", "xml"),
        ("PAGE_TOKEN_SECRET_PREVIOUS", "f1" + JWT),
        ("METRICS_PORT", "8000"),
        ("CONTENT_STORE", "pinata"),
    ],
)
def test_an_invalid_value_is_reported_as_one_problem(name: str, text: str):
    assert len(problems_of(**{name: text})) == 1


@pytest.mark.parametrize(
    ("text", "database"),
    [
        ("sqlite:///a/b.db", SqliteDatabase(Path("a/b.db"))),
        ("sqlite:////var/a.db", SqliteDatabase(Path("/var/a.db"))),
        ("postgresql://me:pw@host/db", PostgresqlDatabase(Secret("postgresql://me:pw@host/db"))),
    ],
)
def test_a_database_url_names_a_file_or_a_server(text: str, database: object):
    assert read(DATABASE_URL=text).storage.database == database


def test_each_content_store_has_its_own_class():
    key = {"ENCRYPTION_KEY": KEY}
    kubo = read(CONTENT_STORE="kubo:http://127.0.0.1:5001/", **key).storage.content
    assert kubo == KuboContent("http://127.0.0.1:5001")
    assert read(CONTENT_STORE="pinata", **PINATA).storage.content == PinataContent()
    public = read(CONTENT_STORE="pinata-public", **PINATA, **key).storage.content
    assert public == PinataContent(public=True)


def test_several_nodes_keep_their_order():
    urls = read(CHAIN_RPC_URL="http://b/x, http://a/y").chain.rpc_urls
    assert [url.reveal() for url in urls] == ["http://b/x", "http://a/y"]


def test_the_default_database_is_in_the_data_folder():
    assert read(DATA_DIR="/srv/i").storage.database == SqliteDatabase(Path("/srv/i/imprint.db"))


def test_the_default_public_url_is_the_listening_address():
    assert read(HOST="::1", PORT="81").server.public_url == "http://[::1]:81"


def test_no_setting_is_required_for_development():
    settings = read_settings({}, defaults=DEVELOPMENT, check_secrets=False)
    assert settings.chain.id == 31337
    assert settings.chain.marketplace == MARKETPLACE
    assert settings.chain.rpc_urls == (Secret("http://127.0.0.1:8545"),)
    assert settings.login_domains == (
        "127.0.0.1:8000",
        "localhost:*",
        "127.0.0.1:*",
        "[::1]:*",
    )
    assert not settings.limits.rate_limits


def test_an_explicit_setting_overrides_a_development_default():
    given = {"IMPRINT_CHAIN_ID": "5", "IMPRINT_CORS_ORIGINS": ""}
    settings = read_settings(given, defaults=DEVELOPMENT, check_secrets=False)
    assert settings.chain.id == 5
    assert settings.server.cors_origins == ()


def test_development_secrets_are_refused_outside_development():
    problems = problems_of(JWT_SECRET=DEVELOPMENT["IMPRINT_JWT_SECRET"])
    assert problems == ["IMPRINT_JWT_SECRET is a placeholder; make one with: openssl rand -hex 32."]


@pytest.mark.parametrize(
    ("first", "second", "distance"),
    [
        ("host", "host", 0),
        ("host", "hosts", 1),
        ("host", "hots", 1),
        ("host", "hast", 1),
        ("host", "port", 2),
        ("", "host", 4),
    ],
)
def test_an_edit_changes_one_character_or_swaps_two_adjacent_characters(
    first: str, second: str, distance: int
):
    assert edit_distance(first, second) == edit_distance(second, first) == distance
