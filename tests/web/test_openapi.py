"""The OpenAPI document: complete, valid, and with examples that verify."""

import re
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import jsonschema_rs
import pytest
import schemathesis
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.web.described import DOCUMENT, FACTS
from tests.world import World

from imprint.auth.login_message import parse_login_message
from imprint.auth.logins import LoginClaim, LoginVerifier
from imprint.auth.typed_data import SigningDomain, TypedDataClaim, WriteVerifier
from imprint.domain.addresses import parse_address
from imprint.domain.cids import parse_cid
from imprint.domain.errors import Code
from imprint.domain.files import Action
from imprint.domain.tags import MAX_TAG_LENGTH, MAX_TAGS, parse_hashtags
from imprint.web.docs import examples, schemas
from imprint.web.docs.errors import MEANINGS
from imprint.web.docs.operations import OPERATIONS
from imprint.web.problems import STATUS_OF

SCHEMAS = DOCUMENT["components"]["schemas"]
OPERATIONS_BY_PLACE = {
    (method, path): operation
    for path, methods in DOCUMENT["paths"].items()
    for method, operation in methods.items()
}

NEVER_AN_OPERATION = {Code.METHOD_NOT_ALLOWED, Code.NOT_IMPLEMENTED}
"""Returned only for requests that match no operation, or before one is looked for."""


def request_example(path: str) -> dict[str, Any]:
    (media,) = DOCUMENT["paths"][path]["post"]["requestBody"]["content"].values()
    example: dict[str, Any] = media["example"]
    return example


async def test_the_described_operations_are_the_routes(world: World) -> None:
    app: Any = world.app
    # Every GET also accepts HEAD, which the guide says once.
    routed = {
        (method.lower(), route.path) for route in app.routes for method in route.methods - {"HEAD"}
    }
    assert set(OPERATIONS_BY_PLACE) == routed


async def test_the_description_contains_the_facts_of_the_service(world: World) -> None:
    facts = (await world.client.get("/.well-known/imprint.json")).json()
    described = (await world.client.get("/openapi.json")).json()
    assert described["info"]["version"] == facts["version"]
    example = described["paths"]["/.well-known/imprint.json"]["get"]["responses"]["200"]
    assert example["content"]["application/json"]["example"] == facts


def test_the_document_is_valid_openapi() -> None:
    assert DOCUMENT["openapi"].startswith("3.1.")
    schemathesis.openapi.from_dict(DOCUMENT).validate()


def test_operation_names_are_unique() -> None:
    names = [operation["operationId"] for operation in OPERATIONS_BY_PLACE.values()]
    assert len(set(names)) == len(names)


def test_every_code_is_listed_by_some_operation() -> None:
    used = {code for operation in OPERATIONS for code in operation.codes}
    assert used == set(Code) - NEVER_AN_OPERATION


def test_every_code_has_a_meaning_and_a_status() -> None:
    assert set(MEANINGS) == set(STATUS_OF) == set(Code)


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda each: each.name)
def test_every_code_is_listed_under_its_status(operation: Any) -> None:
    responses = DOCUMENT["paths"][operation.path][operation.method]["responses"]
    listed = {}
    for status, response in responses.items():
        problem = response.get("content", {}).get("application/problem+json")
        if problem is not None:
            for code in problem["schema"]["allOf"][1]["properties"]["code"]["enum"]:
                listed[Code(code)] = int(status)
    assert listed == {code: STATUS_OF[code] for code in operation.codes}


def test_every_alias_names_its_operation() -> None:
    aliases = {
        path: operation["x-alias-of"]
        for (_, path), operation in OPERATIONS_BY_PLACE.items()
        if "x-alias-of" in operation
    }
    assert aliases == {
        "/webhook/alchemy/publish": "/webhook/provider-a/publish",
        "/webhook/quicknode/publish": "/webhook/provider-b/publish",
    }


def test_only_private_reads_need_a_session() -> None:
    protected = {path for (_, path), each in OPERATIONS_BY_PLACE.items() if "security" in each}
    assert protected == {"/fileByCid", "/pendingFilesByOwner", "/fileByPostId"}


def described_examples() -> Iterator[Any]:
    for (method, path), operation in OPERATIONS_BY_PLACE.items():
        place = f"{method} {path}"
        for parameter in operation.get("parameters", ()):
            if "example" in parameter:
                where = f"{place} {parameter['name']}"
                yield pytest.param(parameter["schema"], parameter["example"], id=where)
        bodies = {"body": operation.get("requestBody", {}), **operation["responses"]}
        for name, body in bodies.items():
            for media in body.get("content", {}).values():
                if "example" in media:
                    yield pytest.param(media["schema"], media["example"], id=f"{place} {name}")


@pytest.mark.parametrize(("schema", "example"), list(described_examples()))
def test_every_example_satisfies_its_schema(schema: dict[str, Any], example: Any) -> None:
    whole = {"components": DOCUMENT["components"], "allOf": [schema]}
    jsonschema_rs.validate(whole, example)


@pytest.mark.parametrize(
    ("path", "action"),
    [
        ("/create/group", Action.CREATE),
        ("/update/file", Action.UPDATE),
        ("/publish/file", Action.PUBLISH),
        ("/delete/file", Action.DELETE),
    ],
)
def test_the_signatures_of_the_examples_verify(path: str, action: Action) -> None:
    body = request_example(path)
    verifier = WriteVerifier(SigningDomain("Imprint", "1", 31337))
    claim = TypedDataClaim(body["salt"], body["address"], body["signature"])
    assert verifier.verify(claim, action, examples.MOMENT).signer == examples.OWNER


def test_the_login_of_the_example_verifies() -> None:
    body = request_example("/auth/login")
    verifier = LoginVerifier(FACTS["login"]["domains"], 31337)
    claim = LoginClaim(body["salt"], body["address"], body["signature"])
    login = verifier.verify(claim, examples.MOMENT + timedelta(seconds=5))
    assert login.address == examples.OWNER


@settings(max_examples=60, deadline=None)
@given(st.from_regex(re.compile(SCHEMAS["LoginMessage"]["pattern"], re.ASCII), fullmatch=True))
def test_every_login_message_that_matches_the_pattern_is_valid(message: str) -> None:
    # Only in Python does `$` also match before a final line feed.
    message = message.removesuffix("\n")
    assert parse_login_message(message).domain in FACTS["login"]["domains"]


@settings(max_examples=100, deadline=None)
@given(st.from_regex(SCHEMAS["Cid"]["pattern"].removesuffix("$") + r"\Z"))
def test_every_cid_that_matches_the_pattern_is_canonical(cid: str) -> None:
    assert parse_cid(cid) == cid


@settings(max_examples=50, deadline=None)
@given(st.from_regex(SCHEMAS["Address"]["pattern"].removesuffix("$") + r"\Z"))
def test_every_address_that_matches_the_pattern_is_valid(address: str) -> None:
    assert parse_address(address) == address.lower()


def test_every_character_of_the_pattern_is_allowed_in_a_hashtag() -> None:
    allowed = re.compile(f"[{schemas.TAG_CHARACTERS}]")
    characters = [chr(point) for point in range(0x10000) if allowed.match(chr(point))]
    assert len(characters) > 30_000
    for character in characters:
        (tag,) = parse_hashtags(character * MAX_TAG_LENGTH)
        assert len(tag) == MAX_TAG_LENGTH


@settings(max_examples=50, deadline=None)
@given(st.from_regex(SCHEMAS["HashtagsOrNone"]["pattern"].removesuffix("$") + r"\Z"))
def test_every_hashtag_list_that_matches_the_pattern_is_valid(text: str) -> None:
    assert len(parse_hashtags(text)) <= MAX_TAGS


@pytest.mark.parametrize("spelled", [31337, "31337", "0x7a69", "0x7A69", "0x0007a69"])
def test_the_chain_id_may_be_a_number_or_a_string_in_decimal_or_hex(spelled: object) -> None:
    body = request_example("/create/group")
    domain = body["salt"]["domain"] | {"chainId": spelled}
    whole = {"components": DOCUMENT["components"], **SCHEMAS["CreateFileTypedData"]}
    jsonschema_rs.validate(whole, body["salt"] | {"domain": domain})


def test_the_post_id_pattern_allows_77_digits() -> None:
    largest = "9" * 77
    assert re.fullmatch(schemas.POST_ID_PATTERN, largest)
    assert int(largest) < 2**256
    assert not re.fullmatch(schemas.POST_ID_PATTERN, "1" + largest)
