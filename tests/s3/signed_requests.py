"""S3 requests that the library does not send: bucket policies, signed with Signature V4."""

import hashlib
import hmac
import json
from datetime import UTC, datetime

import httpx2
from tests.processes import PLAIN
from tests.s3.server import KEY_ID, SECRET, MinioServer


def open_to_strangers(server: MinioServer, bucket: str, below: str) -> None:
    """Let anybody read the objects with this prefix in a bucket."""
    policy = {
        "Version": "2012-10-17",
        "Statement": [
            {
                "Effect": "Allow",
                "Principal": {"AWS": ["*"]},
                "Action": ["s3:GetObject"],
                "Resource": [f"arn:aws:s3:::{bucket}/{below}*"],
            }
        ],
    }
    send(server, "PUT", f"/{bucket}", "policy=", json.dumps(policy).encode())


def send(server: MinioServer, method: str, path: str, query: str, body: bytes) -> None:
    """Send a request and expect success."""
    moment = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
    host = f"127.0.0.1:{server.port}"
    digest = hashlib.sha256(body).hexdigest()
    headers = {"host": host, "x-amz-content-sha256": digest, "x-amz-date": moment}
    names = ";".join(headers)
    lines = "".join(f"{name}:{value}\n" for name, value in headers.items())
    canonical = f"{method}\n{path}\n{query}\n{lines}\n{names}\n{digest}"
    scope = f"{moment[:8]}/us-east-1/s3/aws4_request"
    hashed = hashlib.sha256(canonical.encode()).hexdigest()
    key = f"AWS4{SECRET}".encode()
    for part in scope.split("/"):
        key = hmac.new(key, part.encode(), hashlib.sha256).digest()
    text = f"AWS4-HMAC-SHA256\n{moment}\n{scope}\n{hashed}"
    signature = hmac.new(key, text.encode(), hashlib.sha256).hexdigest()
    headers["authorization"] = (
        f"AWS4-HMAC-SHA256 Credential={KEY_ID}/{scope}, SignedHeaders={names},"
        f" Signature={signature}"
    )
    response = httpx2.request(
        method, f"{server.endpoint}{path}?{query}", headers=headers, content=body, verify=PLAIN
    )
    assert response.status_code < 300, response.text
