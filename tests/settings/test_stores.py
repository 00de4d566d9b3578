"""The settings of databases and content stores."""

import pytest
from tests.settings.environments import problems_of, read

from imprint.settings.declaration import InvalidSetting
from imprint.settings.secrets import Secret
from imprint.settings.stores import (
    BucketContent,
    authorization_header,
    find_credentials,
    is_exposed,
    parse_authorization,
    parse_base_url,
    parse_content_store,
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
