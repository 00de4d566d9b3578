"""The OpenAPI 3.1 document of the HTTP API."""

from collections.abc import Iterator
from typing import Any

import msgspec

from imprint.domain.errors import Code
from imprint.domain.formats.instants import format_instant
from imprint.interface.codec import encode_json
from imprint.interface.problems import Problem
from imprint.web.api.paywall import MAX_OFFER
from imprint.web.docs.accounts import (
    LOGIN_OPERATIONS,
    UPDATE_PROFILE,
    WRITING_SESSION_OPERATIONS,
)
from imprint.web.docs.content import CONTENT_COMPONENTS, CONTENT_OPERATIONS
from imprint.web.docs.deliveries import DELIVERY_COMPONENTS, DELIVERY_OPERATIONS
from imprint.web.docs.drafts import DRAFT_OPERATIONS, SIGNED_ACTIONS
from imprint.web.docs.examples import MOMENT
from imprint.web.docs.feed_endpoints import FEED_COMPONENTS, FEED_OPERATIONS
from imprint.web.docs.operation import (
    MEANINGS,
    TOPICS,
    Body,
    Operation,
    Parameter,
    Schema,
    component_name,
    describe_structs,
    ref,
    string,
)
from imprint.web.docs.posts import PAYMENT_HEADER_PATTERN, POST_COMPONENTS, POST_OPERATIONS
from imprint.web.docs.service import (
    READINESS,
    SERVICE_COMPONENTS,
    SERVICE_OPERATIONS,
    UNREADY,
)
from imprint.web.docs.typed_data import describe_salt, describe_typed_data
from imprint.web.http.problems import CHALLENGED, HIDDEN, STATUSES, problem_body
from imprint.web.http.responses import PROBLEM_TYPE

GUIDE = """\
Authors keep drafts in this service, publish them on the chain, and readers read the posts whose \
token they hold. The service stores the texts and decides who may read them, from what the \
marketplace contract says about holders and prices.

Paths are relative to the address of this page. Every `GET` also accepts `HEAD`.

## Signed writes

To create, update, publish or delete a draft you need no account. The author's wallet signs \
EIP-712 typed data, for example with `eth_signTypedData_v4`. Send it as `salt`, with `address` \
and `signature`. Any wallet can sign: a private key, a contract (ERC-1271), also one that is not \
deployed yet (ERC-6492), and a delegated account (EIP-7702).

- The domain is `signing` of `GET /.well-known/imprint.json`, and `signing_forms` lists the forms \
of typed data that this service accepts.
- Sign the form `imprint-2`: its types are `CreateDraft`, `UpdateDraft`, `PublishDraft` and \
`DeleteDraft`. The message names the `service`, the `cid` of the draft, and the Keccak-256 hash of \
the content or thumbnail, so that nobody can use the signature for another body, another draft or \
another deployment: that would be `body_mismatch`. A signature in the form `imprint-1` covers only \
action, nonce and timestamp.
- The timestamp is Unix time in seconds, at most 60 seconds before or after now. \
`now` of the same document, the header `Date`, and `now` of the refusal `signature_stale` are the \
time here: a client whose clock is wrong adds the difference.
- A signer can use a nonce once, in all forms together. Take at least 16 random bytes. The address \
with the second of the clock is not enough: a create and an update in the same second would have \
the same nonce, and the update would be refused.
- A write spends its nonce when it takes effect, so you can repeat a write that was refused. If \
you repeat a write that took effect, the response is `nonce_used` with the `action` that spent the \
nonce and the `file` it produced. A client that lost the first response continues with that file, \
but only if `action` is the one that it asked for: otherwise its own write was never made.

## Writing sessions

With one signature a wallet allows a key of the browser (P-256, WebCrypto) to create and update \
its drafts for up to 24 hours, so that a save needs no prompt. The key never publishes or deletes. \
`POST /writing/sessions` opens one; a write by it has the member `session`. Revoke it with a \
session of the same wallet, and it is refused everywhere from the next request on.

## Sessions

Reading drafts, and posts that are not free, needs a session. Log in with an EIP-4361 message for \
one of `login.domains` of `GET /.well-known/imprint.json`, and send the `token` as \
`Authorization: Bearer <token>`. It is valid until `expiresAt`, two hours at most, or until \
`POST /auth/logout` ends it.

## Paying and reading over HTTP

`GET /posts/{id}/content` and `GET /posts/{id}.md` of a paid post are 402 for whoever may not \
read it, with the header `PAYMENT-REQUIRED` (x402, version 2): the call of the marketplace that \
buys the post's token, and a challenge. A wallet that holds the token signs the challenge, an \
EIP-4361 message, and sends it as `SIGN-IN-WITH-X` with the same request: it reads without a \
session. A signed challenge is valid for five minutes, for this address only, and for one read.

## From draft to post

1. Create the draft, and update it as often as you like. Each update changes its cid.
2. Prepare it with a thumbnail and hashtags.
3. Call `createPost` of the marketplace contract, with the cids of the draft and the thumbnail. \
`GET /.well-known/marketplace.json` has its chain, address and ABI.
4. When the event arrives, the file becomes `onchain`. It cannot be changed any more.

## Errors

Every error response is `application/problem+json` (RFC 9457). `code` is for programs and never \
changes its meaning; `detail` is for people, and `error` repeats it. Each operation lists all its \
codes. In addition, an unknown path is 404 `not_found`, and a wrong method is 405 \
`method_not_allowed`; an unexpected error is 500 `internal_error`. A 503 neither grants nor denies \
anything: try again after `Retry-After` seconds.

## Lists

Lists of files are newest first. `next_page_token` is `null` on the last page; otherwise send it, \
unchanged, to `GET /filesByNextPageToken`. Paging returns every file once, even if others write \
meanwhile. Lists of posts, sales and what you hold take the token as their own parameter \
`next_page_token`.

## Caching

Contents and thumbnails carry an `ETag`, which is their quoted cid; lists, feeds and pages carry \
one of their content. Send it as `If-None-Match`; 304 means that your copy is current. Responses \
for a single reader are `no-store`.

## Limits

`limits` of `GET /.well-known/imprint.json` has the limits of contents, thumbnails, hashtags, \
nonces and login messages, and the quotas of a signer. A signed request without its content or \
picture has at most 65 536 bytes.

## Versions

Within a major version the interface only grows: ignore members you do not know. The headers \
`Deprecation` and `Sunset` announce what will be removed.
"""
"""The guide in CommonMark, which is the same for every service."""

CURL_SIGNING = (
    """\
A signed command reads `$SALT`, `$ADDRESS` and `$SIGNATURE` from the shell. Sign freshly, within a \
minute of sending, with a new nonce each time. This module prints the three for a create, and \
`eval "$(node sign.mjs)"` sets them; `signWrite` takes `update`, `publish` and `delete` as well. \
For a login, `$SALT` is the message as a JSON string, signed with `personal_sign`.""",
    """\
import { hashText, Imprint, walletOfAccount } from "imprint-press";
import { privateKeyToAccount } from "viem/accounts";

const imprint = await Imprint.connect("https://imprint.example");
const wallet = walletOfAccount(privateKeyToAccount(process.env.PRIVATE_KEY));
const values = { contentHash: hashText("The ink is still wet.") };
const { salt, address, signature } = await imprint.signWrite(wallet, "create", values);
console.log(`SALT='${JSON.stringify(salt)}' ADDRESS=${address} SIGNATURE=${signature}`);
""",
)
"""The text and the module that explain how to set the variables of signed commands."""


OPERATIONS = (
    *LOGIN_OPERATIONS,
    *DRAFT_OPERATIONS,
    *WRITING_SESSION_OPERATIONS,
    *CONTENT_OPERATIONS,
    *POST_OPERATIONS,
    UPDATE_PROFILE,
    *DELIVERY_OPERATIONS,
    *FEED_OPERATIONS,
    *SERVICE_OPERATIONS,
)
"""All operations, in docs order."""

_HEADERS: dict[str, Schema] = {
    "X-Request-Id": {
        "description": "The id of the request, which the log repeats.",
        "required": True,
        "schema": {"type": "string", "pattern": "^[A-Za-z0-9_-]{8,64}$"},
    },
    "Cache-Control": {
        "description": "Who may cache the response, and for how long.",
        "required": True,
        "schema": {"type": "string"},
    },
    "ETag": {
        "description": "The quoted cid, or a hash of the content; a representation other than the "
        "default has a suffix.",
        "required": True,
        "schema": {"type": "string", "pattern": '^"[a-z2-7]+(\\.[a-z0-9]+)*"$'},
    },
    "Location": {
        "description": "The address to continue at.",
        "required": True,
        "schema": {"type": "string"},
    },
    "Content-Range": {
        "description": "The byte range and the size of the document, or only the size.",
        "required": True,
        "schema": {"type": "string", "pattern": "^bytes ([0-9]+-[0-9]+|\\*)/[0-9]+$"},
    },
    "Retry-After": {
        "description": "Seconds to wait before trying again.",
        "required": True,
        "schema": {"type": "integer", "minimum": 1},
    },
    "PAYMENT-REQUIRED": {
        "description": "What the post costs, how to buy it, and the challenge for its holders: "
        "JSON in base64 (x402, version 2).",
        "required": True,
        "schema": {"type": "string", "pattern": PAYMENT_HEADER_PATTERN, "maxLength": MAX_OFFER},
    },
    "WWW-Authenticate": {
        "description": "The authentication scheme of the session.",
        "required": True,
        "schema": {"type": "string", "pattern": "^Bearer"},
    },
}

_RETRIED = (429, 503)
"""Statuses whose responses carry `Retry-After`."""

CODES = "x-codes"
"""The member of a response description that lists the error codes."""


def describe_interface(version: str) -> dict[str, Any]:
    """Build the OpenAPI document of this interface version, which is the same for every service.

    The document leaves out routes that are not `include_in_schema`, such as pages and files for
    crawlers.
    """
    paths: dict[str, dict[str, Any]] = {}
    for operation in OPERATIONS:
        described = _describe(operation)
        paths.setdefault(operation.path, {})[operation.method] = described
        if operation.alias is not None:
            paths[operation.alias] = {operation.method: _describe_alias(operation, described)}
    return {
        "openapi": "3.1.1",
        "info": {
            "title": "Imprint",
            "version": version,
            "summary": "Drafts, posts, purchases and feeds over HTTP.",
            "description": GUIDE,
            "contact": {"name": "The operator of this service"},
            "license": {"name": "MIT", "identifier": "MIT"},
        },
        "servers": [{"url": "/", "description": "This service."}],
        "tags": [{"name": topic, "description": text} for topic, text in TOPICS.items()],
        "paths": paths,
        "components": {
            "schemas": _describe_components(),
            "headers": _HEADERS,
            "securitySchemes": {
                "session": {
                    "type": "http",
                    "scheme": "bearer",
                    "bearerFormat": "JWT",
                    "description": "The `token` that `POST /auth/login` returns.",
                }
            },
        },
    }


def _describe_components() -> dict[str, Schema]:
    """Return the schemas of all bodies and parameters."""
    given = [operation.response.component for operation in OPERATIONS]
    given += [operation.body.component for operation in OPERATIONS if operation.body is not None]
    structs = [each for each in given if isinstance(each, type)]
    schemas = describe_structs([*structs, Problem])
    for name, action in SIGNED_ACTIONS.items():
        schemas[name]["properties"]["salt"] = describe_salt(action)
    schemas["WritingSessionBody"]["properties"]["salt"] = ref("WritingSessionTypedData")
    schemas["ProfileForm"]["properties"]["salt"] = ref("UpdateProfileTypedData")
    schemas["ReviseBody"]["properties"]["salt"] = ref("RevisePostTypedData")
    schemas["KeyValues"]["additionalProperties"] = string("A hashtag, under its own name.")
    # Deliveries come first: generators number a class whose name is already taken by a component.
    return {
        **DELIVERY_COMPONENTS,
        **describe_typed_data(),
        **CONTENT_COMPONENTS,
        **POST_COMPONENTS,
        **FEED_COMPONENTS,
        **SERVICE_COMPONENTS,
        **schemas,
    }


def _ref(component: type[msgspec.Struct] | str) -> Schema:
    return ref(component if isinstance(component, str) else component_name(component))


def _plain(value: object) -> Any:
    """Return an example as JSON."""
    return msgspec.json.decode(encode_json(value))


def _describe(operation: Operation) -> dict[str, Any]:
    described: dict[str, Any] = {
        "operationId": operation.name,
        "tags": [operation.topic],
        "summary": operation.summary,
        "description": operation.description,
    }
    described["security"] = [{"session": []}] if operation.needs_session else []
    if operation.takes_session:
        described["security"] = [{}, {"session": []}]
    if operation.parameters:
        described["parameters"] = [_describe_parameter(each) for each in operation.parameters]
    if operation.body is not None:
        described["requestBody"] = _describe_body(operation.body)
    described["responses"] = dict(_describe_responses(operation))
    return described


def _describe_alias(operation: Operation, described: dict[str, Any]) -> dict[str, Any]:
    return {
        **described,
        "operationId": operation.alias_name,
        "x-alias-of": operation.path,
        "summary": f"{operation.summary} (alias)",
        "description": f"Another path of `{operation.path}`; the operation is the same.",
    }


def _describe_parameter(parameter: Parameter) -> dict[str, Any]:
    described = {
        "name": parameter.name,
        "in": parameter.location,
        "required": parameter.required,
        "description": parameter.description,
        "schema": ref(parameter.schema),
    }
    return described if parameter.example is None else {**described, "example": parameter.example}


def _describe_body(body: Body) -> dict[str, Any]:
    media: dict[str, Any] = {"schema": _ref(body.component)}
    if isinstance(body.example, dict) and not isinstance(body.component, str):
        media["examples"] = {
            form: {"summary": f"Signed in the form {form}", "value": _plain(value)}
            for form, value in body.example.items()
        }
    else:
        media["example"] = _plain(body.example)
    if body.parts:
        media["encoding"] = {name: {"contentType": media_type} for name, media_type in body.parts}
    return {
        "required": body.required,
        "description": body.description,
        "content": {body.media_type: media},
    }


def _describe_responses(operation: Operation) -> Iterator[tuple[str, dict[str, Any]]]:
    response = operation.response
    if response.component is None:
        yield str(response.status), _response(response.description, [])
        yield from _describe_refusals(operation)
        return
    media: dict[str, Any] = {"schema": _ref(response.component)}
    if response.example is not None:
        media["example"] = _plain(response.example)
    tag = ["ETag"] if response.tagged else []
    content = dict.fromkeys(response.media_types, media)
    content |= {kind: {"schema": ref(component)} for kind, component in response.others}
    yield str(response.status), _response(response.description, tag, content)
    if response.ranged:
        yield "206", _response("The requested byte range.", [*tag, "Content-Range"], content)
    if response.elsewhere:
        yield "302", _response(response.elsewhere, ["Location"])
    if operation.redirects:
        yield "303", _response("The page for browsers is at `Location`.", ["Location"])
    if response.tagged:
        yield "304", _response("The client's copy is current. There is no body.", tag)
    if response.paid:
        text = f"{MEANINGS[Code.PAYMENT_REQUIRED]} The body is what everybody may read."
        yield "402", _response(text, ["PAYMENT-REQUIRED"], content)
    yield from _describe_refusals(operation)


def _describe_refusals(operation: Operation) -> Iterator[tuple[str, dict[str, Any]]]:
    for status, codes in STATUSES.items():
        possible = [code for code in codes if code in operation.codes]
        if possible:
            hidden = [code for code in operation.codes if HIDDEN.get(code) == status]
            yield str(status), _describe_errors(operation, status, possible, hidden)


def _describe_errors(
    operation: Operation, status: int, codes: list[Code], hidden: list[Code]
) -> dict[str, Any]:
    headers = [
        *(["Retry-After"] if status in _RETRIED else []),
        *(["WWW-Authenticate"] if set(codes) <= set(CHALLENGED) else []),
        *(["Content-Range"] if Code.RANGE_NOT_SATISFIABLE in codes else []),
        *(["PAYMENT-REQUIRED"] if Code.PAYMENT_REQUIRED in codes else []),
    ]
    media = {"schema": ref("Problem"), "example": _example_problem(status, codes[0])}
    content = {PROBLEM_TYPE: media}
    text = "\n".join(f"- `{code}`: {MEANINGS[code]}" for code in codes)
    for code in hidden:
        text += f"\n- `{code}`: {MEANINGS[code]}"
    if operation is READINESS and Code.OVERLOADED in codes:
        text = f"A dependency cannot be reached, or:\n\n{text}"
        content["application/json"] = {"schema": ref("Readiness"), "example": _plain(UNREADY)}
        headers.remove("Retry-After")
    # Clients can use one type for all problems; the codes of this response are listed separately.
    return {**_response(text, headers, content), CODES: codes + hidden}


def _example_problem(status: int, code: Code) -> Any:
    extra: dict[str, Any] = {}
    if code is Code.NONCE_USED:
        extra = {"action": "delete", "file": None}
    elif code in (Code.WITHHELD, Code.REMOVED):
        extra = {"statement": "A court has decided so.", "since": format_instant(MOMENT)}
    elif code is Code.SIGNATURE_STALE:
        extra = {"now": int(MOMENT.timestamp())}
    return _plain(problem_body(status, code, MEANINGS[code], **extra))


def _response(
    description: str, headers: list[str], content: dict[str, Any] | None = None
) -> dict[str, Any]:
    names = ["X-Request-Id", "Cache-Control", *headers]
    response: dict[str, Any] = {
        "description": description,
        "headers": {name: {"$ref": f"#/components/headers/{name}"} for name in names},
    }
    return response if content is None else {**response, "content": content}
