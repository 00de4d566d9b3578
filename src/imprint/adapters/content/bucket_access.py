"""Opens a bucket with the credentials of the settings, or with those that the platform provides.

The library starts its threads with the first request, so a process that forks must not send one.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any

from obstore.exceptions import BaseError
from obstore.store import AzureStore, GCSStore, ObjectStore, S3Store

from imprint.adapters.content.bucket import BucketStore
from imprint.adapters.content.bucket_client import BucketClient
from imprint.adapters.content.http_retry import DEFAULT_POLICY, RetryPolicy
from imprint.domain.installation import UNNAMED, Identity

LONGEST_REQUEST = timedelta(minutes=5)
"""More than a request may take; operations have their own, shorter deadlines."""

_PLATFORM = (
    "AWS_ACCESS_KEY_ID",
    "AWS_WEB_IDENTITY_TOKEN_FILE",
    "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
    "AWS_CONTAINER_CREDENTIALS_FULL_URI",
)
"""Variables that configure the credentials for S3, if not the machine's metadata."""


@dataclass(frozen=True, slots=True)
class BucketAccess:
    """The location and credentials of a bucket; None leaves a value to the platform.

    `scheme` is s3, gs or az. `key_id` and `secret` are the two halves of an access key for S3; for
    Azure they are the account and its key, and for Google only `secret` is used, the JSON of a
    service account's key.
    """

    scheme: str
    bucket: str
    prefix: str = ""
    endpoint: str | None = None
    region: str | None = None
    key_id: str | None = None
    secret: str | None = field(default=None, repr=False)
    anonymous: bool = False


def open_bucket(
    access: BucketAccess,
    identity: Identity = UNNAMED,
    *,
    strangers_may_read: bool = False,
    policy: RetryPolicy = DEFAULT_POLICY,
    environ: Mapping[str, str] = os.environ,
) -> BucketStore:
    """The content store in the bucket; sends nothing yet.

    Raises `ValueError` for unusable credentials, without showing them.
    """
    name = f"{access.scheme}://{access.bucket}"
    hint = ""
    if access.scheme == "s3" and access.key_id is None and not any(map(environ.get, _PLATFORM)):
        hint = ", perhaps of the metadata service of this machine, for want of other credentials"
    client = BucketClient(name, open_objects(access, policy), policy, hint)
    strangers = None
    if not strangers_may_read:
        anonymous = replace(access, anonymous=True)
        strangers = BucketClient(name, open_objects(anonymous, policy), policy)
    return BucketStore(client, strangers, policy, identity)


def open_objects(access: BucketAccess, policy: RetryPolicy = DEFAULT_POLICY) -> ObjectStore:
    """The objects below the prefix, as the library opens them. Raises `ValueError`."""
    client = {
        # Settings with an unencrypted endpoint have been refused where it is not allowed.
        "allow_http": (access.endpoint or "").startswith("http://"),
        "connect_timeout": timedelta(seconds=policy.connect_timeout),
        "timeout": LONGEST_REQUEST,
        "user_agent": "imprint",
    }
    retry = {
        "max_retries": policy.attempts - 1,
        "backoff": {
            "init_backoff": timedelta(seconds=policy.pause),
            "max_backoff": timedelta(seconds=1),
            "base": 2,
        },
        "retry_timeout": timedelta(seconds=policy.timeout),
    }
    options: dict[str, Any] = {
        "prefix": access.prefix or None,
        "client_options": client,
        "retry_config": retry,
    }
    if access.anonymous:
        options["skip_signature"] = True
    try:
        return _STORES[access.scheme](access, options)
    except (BaseError, ValueError, TypeError):
        also = ", or IMPRINT_AZ_ACCOUNT is missing" if access.scheme == "az" else ""
        # The library's message may contain the key.
        raise ValueError(
            f"The bucket {access.scheme}://{access.bucket} cannot be opened: its credentials are"
            f" malformed{also}."
        ) from None


def _open_s3(access: BucketAccess, options: dict[str, Any]) -> ObjectStore:
    given = {
        "endpoint": access.endpoint,
        "region": access.region,
        "access_key_id": access.key_id,
        "secret_access_key": access.secret,
    }
    options |= {name: value for name, value in given.items() if value is not None}
    # Not every S3-compatible store supports bulk deletion.
    return S3Store(access.bucket, disable_bulk_delete=True, **options)


def _open_google(access: BucketAccess, options: dict[str, Any]) -> ObjectStore:
    if access.secret is not None and not access.anonymous:
        options["service_account_key"] = access.secret
    if access.endpoint is not None:
        options["base_url"] = access.endpoint
    return GCSStore(access.bucket, **options)


def _open_azure(access: BucketAccess, options: dict[str, Any]) -> ObjectStore:
    given = {
        "endpoint": access.endpoint,
        "account_name": access.key_id,
        "account_key": None if access.anonymous else access.secret,
    }
    options |= {name: value for name, value in given.items() if value is not None}
    return AzureStore(access.bucket, **options)


_STORES = {"s3": _open_s3, "gs": _open_google, "az": _open_azure}
