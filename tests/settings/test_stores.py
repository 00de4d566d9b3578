"""The settings of databases and content stores."""

import pytest
from tests.settings.environments import problems_of, read

from imprint.settings.declaration import InvalidSetting
from imprint.settings.secrets import Secret
from imprint.settings.stores import (
    BucketContent,
    authorization_header,
    find_credentials,
    find_private_keys,
    is_exposed,
    parse_authorization,
    parse_base_url,
    parse_content_store,
    parse_database,
    parse_gateway,
)

HALVES = {"S3_ACCESS_KEY_ID": "AKIAEXAMPLE00", "S3_SECRET_ACCESS_KEY": "c2VjcmV0LWFjY2Vzcy1rZXk"}


@pytest.mark.parametrize(
    ("text", "header", "credentials"),
    [
        ("bearer:token:with:colons", "Bearer token:with:colons", ["token:with:colons"] * 2),
        ("basic:u:p:w", "Basic dTpwOnc=", ["p:w", "dTpwOnc="]),
    ],
)
def test_an_authorization_setting_becomes_a_header(text: str, header: str, credentials: list[str]):
    secret = parse_authorization(text)
    assert secret == Secret(text)
    assert authorization_header(secret) == header
    assert find_credentials(secret) == credentials


@pytest.mark.parametrize(
    ("text", "origin"),
    [
        ("Name.mypinata.cloud", "https://name.mypinata.cloud"),
        ("http://127.0.0.1:8080", "http://127.0.0.1:8080"),
    ],
)
def test_a_gateway_is_a_host_or_an_origin(text: str, origin: str):
    assert parse_gateway(text) == origin


def test_a_base_url_has_no_trailing_slash():
    assert parse_base_url("https://api.example/v3/") == "https://api.example/v3"


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("s3://bucket", BucketContent("s3", "bucket")),
        ("s3://bucket/", BucketContent("s3", "bucket")),
        ("s3://my.bucket-1/some/Prefix_2/", BucketContent("s3", "my.bucket-1", "some/Prefix_2")),
        ("gs://my_bucket/imprint", BucketContent("gs", "my_bucket", "imprint")),
        ("az://container/imprint", BucketContent("az", "container", "imprint")),
    ],
)
def test_a_bucket_address_has_a_name_and_an_optional_prefix(text: str, place: BucketContent):
    assert parse_content_store(text) == place


@pytest.mark.parametrize(
    "text",
    [
        "s3:bucket",
        "s3://",
        "s3://b",
        "s3://Bucket",
        "s3:///prefix",
        "s3://user@bucket",
        "s3://bucket//prefix",
        "s3://bucket/../other",
        "s3://bucket/a/./b",
        "s3://bucket/a b",
        "s3://bucket/a?region=x",
        "s3://bucket/" + "x" * 300,
        "s4://bucket",
    ],
)
def test_an_invalid_bucket_address_is_refused(text: str):
    with pytest.raises(InvalidSetting):
        parse_content_store(text)


@pytest.mark.parametrize(
    ("endpoint", "exposed"),
    [
        ("https://minio.example.org", False),
        ("http://127.0.0.1:9000", False),
        ("http://[::1]:9000", False),
        ("http://localhost:9000", False),
        ("http://minio:9000", True),
        ("http://10.0.0.7:9000", True),
        ("http://localhost.example.org", True),
    ],
)
def test_plain_http_to_another_machine_is_refused(endpoint: str, exposed: bool):
    assert is_exposed(endpoint) is exposed
    assert read(S3_ENDPOINT=endpoint, S3_ALLOW_HTTP="on").storage.s3_endpoint == endpoint
    if exposed:
        (problem,) = problems_of(S3_ENDPOINT=endpoint)
        assert "IMPRINT_S3_ALLOW_HTTP=on" in problem
    else:
        assert read(S3_ENDPOINT=endpoint).storage.s3_endpoint == endpoint


@pytest.mark.parametrize("lone", HALVES)
def test_an_access_key_needs_both_halves(lone: str):
    (problem,) = problems_of(**{lone: HALVES[lone]})
    (other,) = HALVES.keys() - {lone}
    assert (
        problem
        == f"IMPRINT_{other} is missing: set both the access key and its secret, or neither."
    )
    assert HALVES[lone] not in problem


def test_bucket_credentials_are_secrets():
    others = {"GS_SERVICE_ACCOUNT_KEY": '{"private_key": "x"}', "AZ_ACCESS_KEY": "YXp1cmUta2V5"}
    settings = read(**HALVES, **others)
    assert {*HALVES.values(), *others.values()} <= set(settings.secrets)
    for text in (*HALVES.values(), *others.values()):
        assert text not in repr(settings)


@pytest.mark.parametrize(
    "rest",
    [
        "me:canary-0123/x@host/db",
        "me:canary-0123#x@host/db",
        "me:canary-0123?x@host/db",
        "me:12?canary-0123@host/db",
        "me:12/canary-0123@host/db",
        "me@host:canary-0123/db",
        "me@one,two:canary-0123/db",
        "[canary-0123/db",
    ],
)
def test_a_password_that_is_not_percent_encoded_is_refused_and_not_quoted(rest: str):
    # The rest of the password would be taken for the host, port or database, which are logged.
    with pytest.raises(InvalidSetting) as raised:
        parse_database(f"postgresql://{rest}")
    assert "canary" not in str(raised.value)
    assert raised.value.__cause__ is None


@pytest.mark.parametrize(
    "rest",
    [
        "me:p%40%2F%23@host:5432/db",
        "me:p@ss@[::1]:5432/db",
        "one:5432,two:5433,three/db?user=me&password=a@b",
        "/db?host=/run/postgresql",
    ],
)
def test_any_valid_address_of_a_database_is_accepted(rest: str):
    assert parse_database(f"postgresql://{rest}")


def test_the_private_key_of_a_service_account_is_found_line_by_line():
    key = "-----BEGIN PRIVATE KEY-----\\nMIIEvAIB\\nADANBgkq\\n-----END PRIVATE KEY-----\\n"
    text = f'{{"private_key": "{key}", "private_key_id": "0123abcd", "type": "service_account"}}'
    assert find_private_keys(Secret(text)) == ["MIIEvAIB", "ADANBgkq", "0123abcd"]
    for other in ("", "[]", "{}", "null", '{"private_key": 1'):
        assert find_private_keys(Secret(other)) == []
