"""The OpenAPI document is complete and valid, and the signatures in its examples verify."""

import json
import re
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import jsonschema_rs
import msgspec
import pytest
import schemathesis
from hypothesis import given, settings
from hypothesis import strategies as st
from libipld import encode_multibase
from tests.auth.proofs import proved
from tests.web.described import DOCUMENT, FACTS
from tests.web.narrowed import TAG_CHARACTERS, narrow
from tests.world import World, open_world

from imprint.auth.login_message import parse_login_message
from imprint.auth.logins import LoginClaim, LoginVerifier
from imprint.auth.typed_data import TypedDataClaim, WriteVerifier, check_body
from imprint.auth.writing_sessions import OpeningClaim, OpeningVerifier
from imprint.domain.drafts.files import Action
from imprint.domain.drafts.tags import MAX_TAG_LENGTH, MAX_TAGS, NotTags, parse_hashtags
from imprint.domain.errors import Code
from imprint.domain.formats.addresses import Address, checksum_address, parse_address
from imprint.domain.formats.cids import cid_bytes, parse_cid
from imprint.interface import values
from imprint.interface.problems import FAILURE
from imprint.web.docs import examples
from imprint.web.docs.accounts import EXPIRES
from imprint.web.docs.openapi import OPERATIONS
from imprint.web.docs.operation import MEANINGS
from imprint.web.docs.service import UNREADY
from imprint.web.http.problems import HIDDEN, STATUS_OF

SCHEMAS = DOCUMENT["components"]["schemas"]
NARROWED = narrow(DOCUMENT, FACTS)["components"]["schemas"]
OPERATIONS_BY_PLACE = {
    (method, path): operation
    for path, methods in DOCUMENT["paths"].items()
    for method, operation in methods.items()
}

CID_SPELLINGS = [
    "QmYwAPJzv5CZsnA625s3Xf2nemtYgPpHdWEz79ojWnPbdG",
    *(encode_multibase(base, cid_bytes(examples.CID)) for base in "fFbBvVcCtTkKzZmMuU"),
]

NEVER_AN_OPERATION = {Code.METHOD_NOT_ALLOWED, Code.NOT_IMPLEMENTED}
"""Codes returned only before routing, or for requests that match no operation."""


def request_example(path: str, form: str | None = None) -> dict[str, Any]:
    (media,) = DOCUMENT["paths"][path]["post"]["requestBody"]["content"].values()
    example: dict[str, Any] = media["examples"][form]["value"] if form else media["example"]
    return example


def component(name: str) -> dict[str, Any]:
    return {"components": DOCUMENT["components"], **SCHEMAS[name]}


async def test_the_described_operations_match_the_routes(world: World) -> None:
    app: Any = world.app
    # Every GET also accepts HEAD; the guide says this once.
    routed = {
        (method.lower(), route.path)
        for route in app.routes
        for method in route.methods - {"HEAD"}
        if route.include_in_schema
    }
    assert set(OPERATIONS_BY_PLACE) == routed


ALSO_LEFT_OUT = {"/docs", "/.well-known/security.txt"}


async def test_every_route_except_pages_and_crawler_files_is_described(tmp_path: Path) -> None:
    async with open_world(tmp_path, OPERATOR_SECRET="s" * 32) as world:
        app: Any = world.app
        left_out = [route for route in app.routes if not route.include_in_schema]
    assert "/operator" in {route.path for route in left_out}
    others = {route.path for route in left_out if not _is_of_the_site(route.endpoint)}
    assert others == ALSO_LEFT_OUT


def _is_of_the_site(endpoint: Callable[..., Any]) -> bool:
    return endpoint.__module__.startswith("imprint.web.site.")


def test_the_api_description_contains_no_pages() -> None:
    described = [each["responses"] for each in OPERATIONS_BY_PLACE.values()]
    media_types = {
        kind
        for responses in described
        for response in responses.values()
        for kind in response.get("content", {})
    }
    assert "text/html" not in media_types


def test_every_component_is_used() -> None:
    used = set(re.findall(r'"#/components/schemas/(\w+)"', json.dumps(DOCUMENT)))
    assert used == SCHEMAS.keys()


FOREIGN = {"ProviderADelivery", "ProviderBDelivery"}
"""Components defined by webhook providers."""


@pytest.mark.parametrize("name", sorted(SCHEMAS.keys() - FOREIGN))
def test_every_component_and_member_has_a_description(name: str) -> None:
    silent = [
        member
        for member, schema in SCHEMAS[name].get("properties", {}).items()
        if not schema.keys() & {"description", "$ref", "anyOf"}
    ]
    assert SCHEMAS[name]["description"].endswith((".", "`"))
    assert silent == []


async def test_the_facts_of_a_service_match_their_description(world: World) -> None:
    facts = (await world.client.get("/.well-known/imprint.json")).json()
    jsonschema_rs.validate(component("Facts"), facts)
    jsonschema_rs.validate(component("Facts"), facts | {"chain": facts["chain"] | {"rpc_url": "x"}})
    assert members_of(facts) == members_of(msgspec.to_builtins(examples.FACTS))


async def test_the_readiness_of_a_service_matches_its_description(world: World) -> None:
    readiness = (await world.client.get("/readyz")).json()
    jsonschema_rs.validate(component("Readiness"), readiness)
    assert set(readiness["checks"]) == set(msgspec.to_builtins(UNREADY.checks))


def members_of(facts: dict[str, Any]) -> dict[str, Any]:
    return {
        name: sorted(value) if isinstance(value, dict) else None for name, value in facts.items()
    }


OTHER_SETTINGS: dict[str, dict[str, str]] = {
    "another signing domain and chain": {"SIGNING_NAME": "Another", "SIGNING_VERSION": "7"},
    "other login domains": {"LOGIN_DOMAINS": "a.example,b.example:8443"},
    "other limits": {"MAX_CONTENT_BYTES": "1000", "MAX_IMAGE_BYTES": "1000", "QUOTA_DRAFTS": "3"},
    "no webhooks": {"WEBHOOK_A_SECRET": "", "WEBHOOK_B_SECRET": ""},
    "public drafts": {"PUBLIC_DRAFTS": "on"},
    "no site": {"SITE": "off"},
}


@pytest.mark.parametrize("given", OTHER_SETTINGS.values(), ids=OTHER_SETTINGS.keys())
async def test_the_description_is_the_same_for_every_service(
    world: World, given: dict[str, str], tmp_path: Path
) -> None:
    described = (await world.client.get("/openapi.json")).content
    async with open_world(tmp_path / "other", **given) as other:
        facts, others = [
            (await each.client.get("/.well-known/imprint.json")).json() for each in (world, other)
        ]
        assert (await other.client.get("/openapi.json")).content == described
        if "WEBHOOK_A_SECRET" in given:
            response = await other.client.post("/webhook/provider-a/publish", json={})
            assert response.status_code == 404
        elif given.keys().isdisjoint({"PUBLIC_DRAFTS", "SITE"}):
            assert facts != others


def test_the_document_is_valid_openapi() -> None:
    assert DOCUMENT["openapi"].startswith("3.1.")
    schemathesis.openapi.from_dict(DOCUMENT).validate()


def test_operation_names_are_unique() -> None:
    names = [operation["operationId"] for operation in OPERATIONS_BY_PLACE.values()]
    assert len(set(names)) == len(names)


def test_every_error_code_is_listed_by_some_operation() -> None:
    used = {code for operation in OPERATIONS for code in operation.codes}
    assert used == set(Code) - NEVER_AN_OPERATION


def test_every_error_code_has_a_meaning_and_a_status() -> None:
    assert set(MEANINGS) == set(STATUS_OF) == set(Code)


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda each: each.name)
def test_every_error_code_is_listed_under_its_status(operation: Any) -> None:
    responses = DOCUMENT["paths"][operation.path][operation.method]["responses"]
    listed: set[tuple[Code, int]] = set()
    for status, response in responses.items():
        problem = response.get("content", {}).get("application/problem+json")
        if problem is not None:
            assert problem["schema"] == {"$ref": "#/components/schemas/Problem"}
            for code in response["x-codes"]:
                listed.add((Code(code), int(status)))
    usual = {(code, STATUS_OF[code]) for code in operation.codes}
    assert listed == usual | {(code, HIDDEN[code]) for code in HIDDEN.keys() & operation.codes}


def test_the_problem_schema_lists_all_error_codes() -> None:
    assert SCHEMAS["ProblemCode"]["enum"] == [*Code, FAILURE]


def test_every_alias_path_names_its_original_operation() -> None:
    aliases = {
        path: operation["x-alias-of"]
        for (_, path), operation in OPERATIONS_BY_PLACE.items()
        if "x-alias-of" in operation
    }
    assert aliases == {
        "/webhook/alchemy/publish": "/webhook/provider-a/publish",
        "/webhook/quicknode/publish": "/webhook/provider-b/publish",
    }


def test_only_private_reads_require_a_session() -> None:
    places = OPERATIONS_BY_PLACE.items()
    protected = {path for (_, path), each in places if each["security"] == [{"session": []}]}
    own = {"/me/library", "/me/measures", "/me/posts", "/me/sales"}
    own |= {"/me/feeds", "/me/feeds/{id}"}
    own |= {"/writing/sessions", "/writing/sessions/{id}", "/auth/logout"}
    assert protected == {"/fileByCid", "/pendingFilesByOwner", "/fileByPostId"} | own
    optional = {path for (_, path), each in places if {} in each["security"]}
    assert optional == {"/posts/{id}/content", "/posts/{id}.md"}


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
                for form, each in media.get("examples", {}).items():
                    yield pytest.param(media["schema"], each["value"], id=f"{place} {form}")


@pytest.mark.parametrize(("schema", "example"), list(described_examples()))
def test_every_example_is_valid_against_its_schema(schema: dict[str, Any], example: Any) -> None:
    whole = {"components": DOCUMENT["components"], "allOf": [schema]}
    jsonschema_rs.validate(whole, example)


@pytest.mark.parametrize("form", ["imprint-1", "imprint-2"])
@pytest.mark.parametrize(
    ("path", "action"),
    [
        ("/create/group", Action.CREATE),
        ("/update/file", Action.UPDATE),
        ("/publish/file", Action.PUBLISH),
        ("/delete/file", Action.DELETE),
    ],
)
def test_the_signatures_of_the_examples_verify(path: str, action: Action, form: str) -> None:
    body = request_example(path, form)
    verifier = WriteVerifier(examples.DOMAIN, examples.FACTS.service)
    tags = body.get("hashtags", "")
    claim = TypedDataClaim(body["salt"], body["address"], body["signature"], hashtags=tags)
    write = proved(verifier.verify(claim, action, examples.MOMENT, examples.CID))
    assert write.signer == examples.OWNER
    if "content" in body:
        check_body(write, body["content"].encode())


def test_the_login_signature_in_the_example_verifies() -> None:
    body = request_example("/auth/login")
    facts = examples.FACTS
    verifier = LoginVerifier(facts.login.domains, facts.signing.chain_id)
    claim = LoginClaim(body["salt"], body["address"], body["signature"])
    login = proved(verifier.verify(claim, examples.MOMENT + timedelta(seconds=5)))
    assert login.address == examples.OWNER


def test_the_writing_session_signature_in_the_example_verifies() -> None:
    body = request_example("/writing/sessions")
    verifier = OpeningVerifier(examples.DOMAIN, examples.FACTS.service)
    claim = OpeningClaim(body["salt"], body["address"], body["signature"])
    opening = proved(verifier.verify(claim, examples.MOMENT))
    assert (opening.wallet, opening.expires_at) == (examples.OWNER, EXPIRES)


# Request patterns match everything that the service accepts, because generated clients check them


@settings(max_examples=60, deadline=None)
@given(st.from_regex(re.compile(NARROWED["LoginMessage"]["pattern"], re.ASCII), fullmatch=True))
def test_every_login_message_matching_the_narrow_pattern_is_valid(message: str) -> None:
    # Only in Python does `$` also match before a final line feed.
    message = message.removesuffix("\n")
    assert parse_login_message(message).domain in FACTS["login"]["domains"]
    assert re.search(SCHEMAS["LoginMessage"]["pattern"], message)


@given(st.binary(min_size=20, max_size=20))
def test_the_address_pattern_matches_every_spelling(address: bytes) -> None:
    lower = Address(f"0x{address.hex()}")
    for spelling in (lower, checksum_address(lower), f"0x{address.hex().upper()}"):
        assert parse_address(spelling) == lower
        assert re.search(SCHEMAS["Address"]["pattern"], spelling)


@given(st.binary(min_size=20, max_size=20))
def test_the_login_message_pattern_matches_a_checksummed_address(address: bytes) -> None:
    spelling = checksum_address(Address(f"0x{address.hex()}"))
    message = request_example("/auth/login")["salt"].split("\n")
    assert message[1] == checksum_address(examples.OWNER)
    message[1] = spelling
    assert parse_login_message("\n".join(message)).address == spelling
    assert re.search(SCHEMAS["LoginMessage"]["pattern"], "\n".join(message))


LOGIN_LINES = [
    ("imprint.example wants", "https://user@[::1]:8000 wants"),
    ("Chain ID: 8453", f"Chain ID: {2**256}"),
    ("Nonce: 7Gq2mVb4Xz", f"Nonce: {'a' * 300}"),
    ("T09:30:00Z", "t09:30:00.000000000001z"),
    ("T09:30:00Z", "T09:30:00+02:00\nExpiration Time: 2030-01-01T00:00:00Z\nRequest ID: "),
    ("T09:30:00Z", "T09:30:00Z\nResources:\n- urn:isbn:0451450523"),
    ("URI: https://imprint.example\n", ""),
    ("Read what you hold.\n\n", "\n"),
]


@pytest.mark.parametrize(("line", "other"), LOGIN_LINES)
def test_the_login_message_pattern_matches_every_line_the_grammar_allows(
    line: str, other: str
) -> None:
    message = request_example("/auth/login")["salt"]
    assert line in message
    changed = message.replace(line, other)
    parse_login_message(changed)
    assert re.search(SCHEMAS["LoginMessage"]["pattern"], changed)


@settings(max_examples=100, deadline=None)
@given(st.from_regex(SCHEMAS["Cid"]["pattern"].removesuffix("$") + r"\Z"))
def test_every_cid_matching_the_narrow_pattern_is_canonical(cid: str) -> None:
    assert parse_cid(cid) == cid
    assert re.search(SCHEMAS["AnyCid"]["pattern"], cid)


@pytest.mark.parametrize("spelling", CID_SPELLINGS, ids=lambda each: each[:2])
def test_the_cid_pattern_matches_every_multibase(spelling: str) -> None:
    parse_cid(spelling)
    assert re.search(SCHEMAS["AnyCid"]["pattern"], spelling)


def test_every_character_in_the_narrow_pattern_is_allowed_in_a_hashtag() -> None:
    allowed = re.compile(f"[{TAG_CHARACTERS}]")
    characters = [chr(point) for point in range(0x10000) if allowed.match(chr(point))]
    assert len(characters) > 30_000
    for character in characters:
        (tag,) = parse_hashtags(character * MAX_TAG_LENGTH)
        assert len(tag) == MAX_TAG_LENGTH


@settings(max_examples=50, deadline=None)
@given(st.from_regex(NARROWED["HashtagsOrNone"]["pattern"].removesuffix("$") + r"\Z"))
def test_every_hashtag_list_matching_the_narrow_pattern_is_valid(text: str) -> None:
    assert len(parse_hashtags(text)) <= MAX_TAGS
    assert re.search(SCHEMAS["HashtagsOrNone"]["pattern"], text)


SPELLINGS = st.text(
    st.one_of(
        st.characters(exclude_categories=["Cs"]),
        st.characters(categories=["L", "M", "N"]),
        st.sampled_from("#,-_ \t\u00a0\u3000aA9\u0301™①＿－ﬁ"),
    ),
    max_size=40,
)
"""Texts, many of which are hashtags in various scripts."""


@settings(max_examples=1500, deadline=None)
@given(SPELLINGS | st.lists(SPELLINGS, max_size=12).map(",".join))
def test_the_pattern_matches_every_hashtag_list_the_service_accepts(text: str) -> None:
    try:
        tags = parse_hashtags(text)
    except NotTags:
        return
    assert re.search(values.HASHTAGS_OR_NONE_PATTERN, text)
    assert bool(re.search(values.HASHTAGS_PATTERN, text)) or not tags
    validator = jsonschema_rs.validator_for({"pattern": values.HASHTAGS_OR_NONE_PATTERN})
    assert validator.is_valid(text)


@pytest.mark.parametrize(
    "text",
    [
        ",".join(["a"] * 11),
        " \t#Ünïcode\u3000, 漢字 ",
        "हिन्दी,ไทย,ქართული,𝒜",
        "™,①,ﬁn",
        "e\u0301" * 32,
        "a\u00a0",
    ],
)
def test_the_pattern_matches_unusual_hashtags_the_service_accepts(text: str) -> None:
    assert parse_hashtags(text)
    assert re.search(values.HASHTAGS_PATTERN, text)


ASCII = [chr(point) for point in range(0x80)]


@pytest.mark.parametrize("spelled", ["{}", "a{}", "{}a", "a{}b", "##{}"])
def test_the_pattern_rejects_every_ascii_text_the_service_refuses(spelled: str) -> None:
    for character in ASCII:
        text = spelled.format(character)
        try:
            parse_hashtags(text)
        except NotTags:
            is_taken = False
        else:
            is_taken = True
        assert bool(re.search(values.HASHTAGS_OR_NONE_PATTERN + r"\Z", text)) == is_taken, text


@pytest.mark.parametrize("spelled", [31337, "31337", "0x7a69", "0x7A69", "0x0007a69"])
def test_the_chain_id_may_be_a_number_or_a_string_in_decimal_or_hex(spelled: object) -> None:
    for form, name in (("imprint-1", "CreateFile"), ("imprint-2", "CreateDraft")):
        body = request_example("/create/group", form)
        domain = body["salt"]["domain"] | {"chainId": spelled}
        jsonschema_rs.validate(component(f"{name}TypedData"), body["salt"] | {"domain": domain})


def test_the_post_id_pattern_matches_every_number_below_2_to_the_256() -> None:
    assert re.fullmatch(values.POST_ID_PATTERN, str(2**256 - 1))
    assert not re.fullmatch(values.POST_ID_PATTERN, "01")
