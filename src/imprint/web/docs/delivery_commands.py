"""The commands that sign a delivery as its provider does and send it, with openssl and curl."""

import json
from collections.abc import Mapping
from typing import Any

from imprint.web.docs.commands import BASE, first_example, shell_quote
from imprint.web.docs.operation import Topic

SECRET_NOTE = (
    "`$SECRET` is the signing secret of the provider, as in the settings of this service. Change "
    "one character of the body, and the delivery is refused as `webhook_signature_invalid`."
)
"""What stands below the commands."""

SIGNATURES = {"X-Alchemy-Signature", "X-QN-Signature"}
"""Headers that carry the signature of a delivery."""

VARIABLES = {
    "X-QN-Nonce": ("NONCE", "$(openssl rand -hex 16)"),
    "X-QN-Timestamp": ("TIMESTAMP", "$(date +%s)"),
}
"""Headers that are signed before the body: their variables, and how they are made."""

Json = Mapping[str, Any]


def is_delivery(operation: Json) -> bool:
    """Whether a provider calls the operation: nobody else has the secret to sign with."""
    return Topic.DELIVERIES in operation["tags"]


def delivery_command(path: str, operation: Json) -> str:
    """The commands for the example of an operation that providers call."""
    ((media_type, media),) = operation["requestBody"]["content"].items()
    headers = [parameter["name"] for parameter in operation["parameters"]]
    signed = [VARIABLES[name] for name in headers if name in VARIABLES]
    body = json.dumps(first_example(media), indent=2, ensure_ascii=False)
    pieces = "".join(f"${name}" for name, _ in signed) + "$BODY"
    lines = [
        f"BODY={shell_quote(body)}",
        *(f"{name}={made}" for name, made in signed),
        f'SIGNATURE=$(printf %s "{pieces}" |',
        '  openssl dgst -sha256 -hmac "$SECRET" -r | cut -d " " -f 1)',
        "",
    ]
    words = [f'curl -X POST "{BASE}{path}"']
    words += [f'-H "{name}: ${VARIABLES[name][0]}"' for name in headers if name in VARIABLES]
    words += [f'-H "{name}: $SIGNATURE"' for name in headers if name in SIGNATURES]
    words += [f"-H {shell_quote('Content-Type: ' + media_type)}", '--data-raw "$BODY"']
    return "\n".join([*lines, " \\\n  ".join(words)])
