"""Settings: where they come from, what wins, and how everything wrong is told at once."""

from pathlib import Path

import pytest

from imprint.domain.rate_limits import Rate
from imprint.settings import (
    DEVELOPMENT,
    SETTINGS,
    EmbeddedContent,
    KuboContent,
    PinataContent,
    PostgresqlDatabase,
    Secret,
    Settings,
    SettingsProblems,
    SqliteDatabase,
    read_settings,
)

MARKETPLACE = "0x5fbdb2315678afecb367f032d93f642f64180aa3"
JWT = "8c1f0a5be27d4693b1f0c8e9d2a7465f"
KEY = "5c7d1f0e93ab48260d51be7fa94c836217e0db3f68a5924cc1f7053eb8d26a94"
ENOUGH = {
    "IMPRINT_CHAIN_RPC_URL": "https://rpc.example/v2/abcdefghijk",
    "IMPRINT_CHAIN_ID": "1",
    "IMPRINT_MARKETPLACE_ADDRESS": MARKETPLACE,
    "IMPRINT_JWT_SECRET": JWT,
}


def read(**given: str) -> Settings:
    return read_settings(ENOUGH | {f"IMPRINT_{name}": text for name, text in given.items()})


def problems_of(**given: str) -> list[str]:
    with pytest.raises(SettingsProblems) as raised:
        read(**given)
    return raised.value.problems


def write_config(folder: Path, text: str) -> Path:
    path = folder / "imprint.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_four_settings_are_enough():
    settings = read()
    assert settings.server.port == 8000
    assert settings.chain.id == 1
    assert settings.storage.database == SqliteDatabase(Path("data/imprint.db"))
    assert settings.storage.content == EmbeddedContent()
    assert settings.limits.content_bytes == 4 * 1024 * 1024


def test_everything_that_is_missing_is_named_at_once():
    with pytest.raises(SettingsProblems) as raised:
        read_settings({})
    names = [problem.split()[0] for problem in raised.value.problems]
    assert names == list(ENOUGH)


def test_all_problems_are_told_together():
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
def test_a_name_that_is_no_setting_is_only_warned_about(name: str):
    settings = read(**{name: "tcp://10.0.0.1:8000"})
    assert settings.warnings == (f"IMPRINT_{name} is no setting and means nothing here.",)


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("HOTS", "HOST"),
        ("WORKER", "WORKERS"),
        ("JWT_SECRETS", "JWT_SECRET"),
        ("JWT_SECERT_FILE", "JWT_SECRET_FILE"),
        ("CORS_ORIGIN", "CORS_ORIGINS"),
        ("RATE_LIMIT", "RATE_LIMITS"),
    ],
)
def test_a_misspelled_name_is_an_error(name: str, meant: str):
    assert problems_of(**{name: "x"}) == [
        f"IMPRINT_{name} is no setting. Did you mean IMPRINT_{meant}?"
    ]


def test_a_misspelled_name_is_an_error_with_a_suggestion():
    assert problems_of(WEBHOOK_A_SECERT=JWT) == [
        "IMPRINT_WEBHOOK_A_SECERT is no setting. Did you mean IMPRINT_WEBHOOK_A_SECRET?"
    ]


def test_the_environment_wins_over_the_file(tmp_path: Path):
    config = write_config(tmp_path, "port = 9000\nhost = '::1'\n")
    settings = read_settings(ENOUGH | {"IMPRINT_PORT": "9001"}, config)
    assert (settings.server.host, settings.server.port) == ("::1", 9001)


def test_an_option_wins_over_the_environment():
    settings = read_settings(ENOUGH | {"IMPRINT_PORT": "1"}, options={"IMPRINT_PORT": "2"})
    assert settings.server.port == 2


def test_the_environment_may_name_the_file(tmp_path: Path):
    config = write_config(tmp_path, "public_drafts = true\ncors_origins = ['https://a.example']\n")
    settings = read_settings(ENOUGH | {"IMPRINT_CONFIG": str(config)})
    assert settings.retention.public_drafts
    assert settings.server.cors_origins == ("https://a.example",)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("prot = 1", "prot is no setting. Did you mean port?"),
        ("base_url = 'x'", "base_url is no setting."),
        ("port = ", "is no TOML"),
        ("[server]\nport = 1", "must be a text, number, switch or list"),
    ],
)
def test_a_wrong_file_is_explained(tmp_path: Path, text: str, expected: str):
    with pytest.raises(SettingsProblems, match=expected.replace("?", r"\?")):
        read_settings(ENOUGH, write_config(tmp_path, text))


def test_a_file_that_is_not_there_is_explained(tmp_path: Path):
    with pytest.raises(SettingsProblems, match="cannot be read: no such file"):
        read_settings(ENOUGH, tmp_path / "nothing.toml")


def test_a_secret_may_stand_in_a_file(tmp_path: Path):
    secret = tmp_path / "jwt"
    secret.write_text(JWT + "\n", encoding="utf-8")
    given = {name: text for name, text in ENOUGH.items() if name != "IMPRINT_JWT_SECRET"}
    settings = read_settings(given | {"IMPRINT_JWT_SECRET_FILE": str(secret)})
    assert settings.sessions.jwt_secret == Secret(JWT)


def test_a_setting_and_its_file_are_not_both_given():
    assert "are both given" in problems_of(JWT_SECRET_FILE="/anywhere")[0]


def test_an_empty_text_counts_as_not_given():
    assert read(WEBHOOK_A_SECRET="", PORT="").webhooks.a_secret is None
    assert problems_of(JWT_SECRET="")[0].startswith("IMPRINT_JWT_SECRET is missing")


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
def test_what_makes_no_sense_is_refused(name: str, text: str):
    assert len(problems_of(**{name: text})) == 1


@pytest.mark.parametrize(
    ("text", "database"),
    [
        ("sqlite:///a/b.db", SqliteDatabase(Path("a/b.db"))),
        ("sqlite:////var/a.db", SqliteDatabase(Path("/var/a.db"))),
        ("postgresql://me:pw@host/db", PostgresqlDatabase(Secret("postgresql://me:pw@host/db"))),
    ],
)
def test_databases_are_told_apart(text: str, database: object):
    assert read(DATABASE_URL=text).storage.database == database


def test_content_stores_are_told_apart():
    key = {"ENCRYPTION_KEY": KEY}
    kubo = read(CONTENT_STORE="kubo:http://127.0.0.1:5001/", **key).storage.content
    assert kubo == KuboContent("http://127.0.0.1:5001")
    pinata = {"PINATA_JWT": "j", "PINATA_GATEWAY": "gateway.example"}
    assert read(CONTENT_STORE="pinata", **pinata).storage.content == PinataContent()
    public = read(CONTENT_STORE="pinata-public", **pinata, **key).storage.content
    assert public == PinataContent(public=True)


def test_several_nodes_keep_their_order():
    urls = read(CHAIN_RPC_URL="http://b/x, http://a/y").chain.rpc_urls
    assert [url.reveal() for url in urls] == ["http://b/x", "http://a/y"]


def test_the_database_follows_the_data_folder():
    assert read(DATA_DIR="/srv/i").storage.database == SqliteDatabase(Path("/srv/i/imprint.db"))


def test_the_public_url_follows_where_the_service_listens():
    assert read(HOST="::1", PORT="81").server.public_url == "http://[::1]:81"


def test_the_own_host_is_always_a_login_domain():
    settings = read(PUBLIC_URL="https://Imprint.Example", LOGIN_DOMAINS="App.example:3000")
    assert settings.login_domains == ("imprint.example", "app.example:3000")


def test_rates_hold_only_while_they_are_on():
    assert read().limits.enforced(Rate(1, 2)) == Rate(1, 2)
    assert read(RATE_LIMITS="off").limits.enforced(Rate(1, 2)) is None


def test_development_needs_nothing():
    settings = read_settings({}, defaults=DEVELOPMENT, check_secrets=False)
    assert settings.chain.id == 31337
    assert settings.chain.marketplace == MARKETPLACE
    assert settings.chain.rpc_urls == (Secret("http://127.0.0.1:8545"),)
    assert settings.login_domains == ("127.0.0.1:8000", "localhost:8000")
    assert not settings.limits.rate_limits


def test_what_is_given_wins_over_a_development_default():
    given = {"IMPRINT_CHAIN_ID": "5", "IMPRINT_CORS_ORIGINS": ""}
    settings = read_settings(given, defaults=DEVELOPMENT, check_secrets=False)
    assert settings.chain.id == 5
    assert settings.server.cors_origins == ()


def test_every_development_default_is_a_setting():
    assert set(DEVELOPMENT) <= {each.name for each in SETTINGS}


def test_serving_refuses_the_secrets_of_development():
    problems = problems_of(JWT_SECRET=DEVELOPMENT["IMPRINT_JWT_SECRET"])
    assert problems == ["IMPRINT_JWT_SECRET is a placeholder; make one with: openssl rand -hex 32."]
