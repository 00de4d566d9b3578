"""Opening a bucket: URLs and credentials, without sending requests."""

import json
from dataclasses import replace
from typing import Any

import pytest
from obstore.store import AzureStore, GCSStore, S3Store
from tests.faults.keyed_servers import KeyedGoogleBucket

from imprint.adapters.content.bucket import BucketAccess, BucketStore, open_bucket, open_objects
from imprint.adapters.content.http_retry import DEFAULT_POLICY

S3 = BucketAccess("s3", "bucket", "some/prefix", key_id="key-id", secret="the-secret")
GOOGLE = BucketAccess("gs", "bucket", "some/prefix")
AZURE = BucketAccess("az", "bucket", "some/prefix", key_id="account", secret="dGhlLXNlY3JldA==")


def config_of(access: BucketAccess) -> dict[str, Any]:
    opened = open_objects(access)
    assert isinstance(opened, S3Store | GCSStore | AzureStore)
    assert opened.prefix == access.prefix
    return dict(opened.config)


def test_an_s3_bucket_is_opened_with_an_access_key() -> None:
    config = config_of(replace(S3, region="eu-west-3"))
    assert config["access_key_id"] == "key-id"
    assert config["secret_access_key"] == "the-secret"
    assert config["region"] == "eu-west-3"
    assert "endpoint" not in config


def test_an_endpoint_replaces_the_amazon_default() -> None:
    assert config_of(replace(S3, endpoint="https://minio.example.org"))["endpoint"] == (
        "https://minio.example.org"
    )


@pytest.mark.parametrize(
    ("endpoint", "allowed"),
    [(None, False), ("https://minio.example.org", False), ("http://127.0.0.1:9000", True)],
)
def test_plain_http_is_allowed_only_for_an_http_endpoint(
    endpoint: str | None, allowed: bool
) -> None:
    opened = open_objects(replace(S3, endpoint=endpoint))
    assert isinstance(opened, S3Store)
    assert opened.client_options is not None
    assert str(opened.client_options["allow_http"]).lower() == str(allowed).lower()


def test_an_azure_container_is_opened_with_an_account_key() -> None:
    config = config_of(AZURE)
    assert config["account_name"] == "account"
    assert config["account_key"] == "dGhlLXNlY3JldA=="


def test_a_google_bucket_is_opened_without_a_key() -> None:
    assert config_of(GOOGLE)["bucket"] == "bucket"


@pytest.mark.parametrize("access", [S3, GOOGLE, AZURE], ids=lambda each: each.scheme)
def test_anonymous_access_sends_no_credentials(access: BucketAccess) -> None:
    assert str(config_of(replace(access, anonymous=True))["skip_signature"]).lower() == "true"


@pytest.mark.parametrize("access", [S3, GOOGLE, AZURE], ids=lambda each: each.scheme)
def test_opening_a_store_sends_no_request(access: BucketAccess) -> None:
    assert isinstance(open_bucket(access), BucketStore)


@pytest.mark.parametrize(
    "access",
    [
        replace(GOOGLE, secret="not-json-canary"),
        replace(GOOGLE, secret=json.dumps({"private_key": "canary"})),
        replace(AZURE, secret="canary!"),
        replace(AZURE, key_id=None, secret="canary"),
        replace(S3, secret=None, key_id="canary"),
    ],
)
def test_malformed_credentials_are_refused_and_not_displayed(
    access: BucketAccess, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("AZURE_STORAGE_ACCOUNT_NAME", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(ValueError, match="credentials are malformed") as refused:
        open_bucket(access)
    assert "canary" not in str(refused.value)
    assert refused.value.__cause__ is None
    assert refused.value.__suppress_context__


def test_the_s3_client_retries_as_often_as_the_other_store_clients() -> None:
    opened = open_objects(S3)
    assert isinstance(opened, S3Store)
    assert opened.retry_config is not None
    assert opened.retry_config["max_retries"] == DEFAULT_POLICY.attempts - 1


def test_bucket_access_does_not_expose_its_secret() -> None:
    assert "the-secret" not in repr(S3)


async def test_the_marker_of_a_google_bucket_is_replaced_only_if_it_is_the_expected_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    server = KeyedGoogleBucket()
    await server.start()
    try:
        for variable, text in server.environ.items():
            monkeypatch.setenv(variable, text)
        account = server.account("one")
        server.keys |= {account}
        access = BucketAccess("gs", "bucket", "some/prefix", secret=account)
        store = open_bucket(access, strangers_may_read=True)
        assert await store.claim("first") == "first"
        assert await store.claim("second", instead_of="another") == "first"
        assert await store.claim("second", instead_of="first") == "second"
        await store.close()
    finally:
        await server.stop()
