"""The interface as an OpenAPI 3.1 document, put together from the manual."""

from collections.abc import Iterator, Mapping
from http import HTTPStatus
from typing import Any

from imprint.domain.errors import Code
from imprint.web.docs.errors import MEANINGS
from imprint.web.docs.examples import UNREADY, build_examples
from imprint.web.docs.guide import write_guide
from imprint.web.docs.operation import TOPICS, Body, Operation, Parameter
from imprint.web.docs.operations import (
    READ_OPERATIONS,
    SERVICE_OPERATIONS,
    SIGNED_OPERATIONS,
    TELL_READINESS,
)
from imprint.web.docs.schemas import Schema, describe_answers, describe_requests, ref
from imprint.web.problems import CHALLENGED, MEDIA_TYPE, STATUSES

OPERATIONS = (*SIGNED_OPERATIONS, *READ_OPERATIONS, *SERVICE_OPERATIONS)
"""Every operation, in the order in which a reader meets them."""

_HEADERS: dict[str, Schema] = {
    "X-Request-Id": {
        "description": "The request's id, as it stands in the log.",
        "required": True,
        "schema": {"type": "string", "pattern": "^[A-Za-z0-9_-]{8,64}$"},
    },
    "Cache-Control": {
        "description": "Who may keep the answer, and for how long.",
        "required": True,
        "schema": {"type": "string"},
    },
    "ETag": {
        "description": "The quoted cid; another representation than the usual is named after it.",
        "required": True,
        "schema": {"type": "string", "pattern": '^"[a-z2-7]+(\\.[a-z]+)*"$'},
    },
    "Content-Range": {
        "description": "Which bytes these are, and of how many; or only how many there are.",
        "required": True,
        "schema": {"type": "string", "pattern": "^bytes ([0-9]+-[0-9]+|\\*)/[0-9]+$"},
    },
    "Retry-After": {
        "description": "Seconds after which it is worth trying again.",
        "required": True,
        "schema": {"type": "integer", "minimum": 1},
    },
    "WWW-Authenticate": {
        "description": "The scheme of the session.",
        "required": True,
        "schema": {"type": "string", "pattern": "^Bearer"},
    },
}

_RETRIED = (429, 503)
"""Statuses of refusals that say when to try again."""


def describe_interface(facts: Mapping[str, Any]) -> dict[str, Any]:
    """The OpenAPI document of a service with these facts about itself."""
    examples = build_examples(facts)
    paths: dict[str, dict[str, Any]] = {}
    for operation in OPERATIONS:
        described = _describe(operation, examples)
        paths.setdefault(operation.path, {})[operation.method] = described
        if operation.alias is not None:
            paths[operation.alias] = {operation.method: _describe_alias(operation, described)}
    return {
        "openapi": "3.1.1",
        "info": {
            "title": facts["name"],
            "version": facts["version"],
            "summary": "A publishing service for work that readers own.",
            "description": write_guide(facts),
            "license": {"name": "MIT", "identifier": "MIT"},
        },
        "servers": [{"url": "/", "description": "This service."}],
        "tags": [{"name": topic, "description": text} for topic, text in TOPICS.items()],
        "paths": paths,
        "components": {
            "schemas": {**describe_requests(facts), **describe_answers(facts)},
            "headers": _HEADERS,
            "securitySchemes": {
                "session": {
                    "type": "http",
                    "scheme": "bearer",
                    "bearerFormat": "JWT",
                    "description": "The `token` that `POST /auth/login` answers.",
                }
            },
        },
    }


def _describe(operation: Operation, examples: Mapping[str, Any]) -> dict[str, Any]:
    described: dict[str, Any] = {
        "operationId": operation.name,
        "tags": [operation.topic],
        "summary": operation.summary,
        "description": operation.description,
    }
    if operation.needs_session:
        described["security"] = [{"session": []}]
    if operation.parameters:
        described["parameters"] = [_describe_parameter(each) for each in operation.parameters]
    if operation.body is not None:
        described["requestBody"] = _describe_body(operation.body, examples)
    described["responses"] = dict(_describe_responses(operation, examples))
    return described


def _describe_alias(operation: Operation, described: dict[str, Any]) -> dict[str, Any]:
    return {
        **described,
        "operationId": f"{operation.name}ByAlias",
        "x-alias-of": operation.path,
        "summary": f"{operation.summary} (alias)",
        "description": f"Another path of `{operation.path}`, and in nothing else different.",
    }


def _describe_parameter(parameter: Parameter) -> dict[str, Any]:
    described = {
        "name": parameter.name,
        "in": parameter.place,
        "required": parameter.required,
        "description": parameter.description,
        "schema": ref(parameter.schema),
    }
    return described if parameter.example is None else {**described, "example": parameter.example}


def _describe_body(body: Body, examples: Mapping[str, Any]) -> dict[str, Any]:
    media: dict[str, Any] = {"schema": ref(body.component), "example": examples[body.component]}
    if body.parts:
        media["encoding"] = {name: {"contentType": media_type} for name, media_type in body.parts}
    return {
        "required": True,
        "description": body.description,
        "content": {body.media_type: media},
    }


def _describe_responses(
    operation: Operation, examples: Mapping[str, Any]
) -> Iterator[tuple[str, dict[str, Any]]]:
    answer = operation.answer
    media: dict[str, Any] = {"schema": ref(answer.component)}
    if answer.component in examples:
        media["example"] = examples[answer.component]
    tag = ["ETag"] if answer.tagged else []
    content = dict.fromkeys(answer.media_types, media)
    content |= {kind: {"schema": ref(component)} for kind, component in answer.others}
    yield "200", _response(answer.description, tag, content)
    if answer.ranged:
        yield "206", _response("The part that was asked for.", [*tag, "Content-Range"], content)
    if answer.tagged:
        yield "304", _response("The caller's copy is current. There is no body.", tag)
    for status, codes in STATUSES.items():
        possible = [code for code in codes if code in operation.codes]
        if possible:
            yield str(status), _describe_refusals(operation, status, possible)


def _describe_refusals(operation: Operation, status: int, codes: list[Code]) -> dict[str, Any]:
    headers = [
        *(["Retry-After"] if status in _RETRIED else []),
        *(["WWW-Authenticate"] if set(codes) <= set(CHALLENGED) else []),
        *(["Content-Range"] if Code.RANGE_NOT_SATISFIABLE in codes else []),
    ]
    members: Schema = {"status": {"const": status}, "code": {"enum": codes}}
    if Code.NONCE_USED in codes:
        members["file"] = {"anyOf": [ref("Record"), {"type": "null"}]}
    schema = {"allOf": [ref("Problem"), {"type": "object", "properties": members}]}
    content = {MEDIA_TYPE: {"schema": schema, "example": _example_problem(status, codes[0])}}
    text = "\n".join(f"- `{code}`: {MEANINGS[code]}" for code in codes)
    if operation is TELL_READINESS:
        text = f"A dependency does not answer, or else:\n\n{text}"
        content["application/json"] = {"schema": ref("Readiness"), "example": UNREADY}
        headers.remove("Retry-After")
    return _response(text, headers, content)


def _example_problem(status: int, code: Code) -> dict[str, Any]:
    problem = {
        "type": f"urn:imprint:problem:{code}",
        "title": HTTPStatus(status).phrase,
        "status": status,
        "detail": MEANINGS[code],
        "code": code,
        "error": MEANINGS[code],
    }
    return problem | {"file": None} if code is Code.NONCE_USED else problem


def _response(
    description: str, headers: list[str], content: dict[str, Any] | None = None
) -> dict[str, Any]:
    names = ["X-Request-Id", "Cache-Control", *headers]
    response: dict[str, Any] = {
        "description": description,
        "headers": {name: {"$ref": f"#/components/headers/{name}"} for name in names},
    }
    return response if content is None else {**response, "content": content}
