"""Client calls for an operation in TypeScript and Python, built from its name and examples."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from imprint.web.docs.examples import PROFILE, REVISION_NOTE, SERVICE, TAGS
from imprint.web.docs.page.commands import first_example, is_signed

Json = Mapping[str, Any]

SINGLE = frozenset({"listWritingSessions", "listPrivateFeeds", "listMeasures", "listRevisions"})
"""Operations that return the whole list in one response."""

IMPLIED = {"readPost": "user", "listDrafts": "owner"}
"""Parameters that clients fill in from the session."""

OBJECTS = frozenset({"listPosts", "listIndexedPosts", "listLibrary", "listOwnPosts", "listSales"})
"""Operations whose parameters are all filters, which clients pass by name."""

FILTERS: dict[str, dict[str, Any]] = {
    "listIndexedPosts": {"free": True, "sort": "newest"},
    "listLibrary": {"q": "ink"},
}
"""Filters shown in client examples instead of the filters in the OpenAPI document."""

_TAGS = TAGS.split(",")

_PROFILE = PROFILE.texts

_PICTURES = {"publishDraft": ("thumbnail", "thumbnail.png"), "updateProfile": ("avatar", "me.png")}
"""Operations with a picture, each with the names of the picture and of its file."""


def typescript_example(operation: Json) -> str:
    """Return a module that calls the operation with `imprint-press`."""
    name, signs, reads = _subject(operation)
    lines = ['import { Imprint } from "imprint-press";']
    if signs or reads:
        lines = [
            'import { type Hex, Imprint, walletOfAccount } from "imprint-press";',
            'import { privateKeyToAccount } from "viem/accounts";',
        ]
    if name in _PICTURES:
        lines.append('import { readFile } from "node:fs/promises";')
    lines += ["", f"const imprint = await Imprint.connect({_text(SERVICE)});"]
    if signs or reads:
        key = "privateKeyToAccount(process.env.PRIVATE_KEY as Hex)"
        lines.append(f"const wallet = walletOfAccount({key});")
    if reads:
        lines.append("await imprint.login(wallet);")
    call = f"imprint.{name}({', '.join(_typescript_values(name, operation))})"
    return "\n".join([*lines, "", *_typescript_use(name, operation, call)])


def python_example(operation: Json) -> str:
    """Return a program that calls the operation with `imprint.client`."""
    name, signs, reads = _subject(operation)
    lines = ["import asyncio"]
    if signs or reads:
        lines += ["import os"]
    if name in _PICTURES:
        lines += ["from pathlib import Path"]
    imported = "Imprint, KeyWallet" if signs or reads else "Imprint"
    lines += ["", f"from imprint.client import {imported}", "", "", "async def main() -> None:"]
    lines.append(f"    async with Imprint.connect({_text(SERVICE)}) as imprint:")
    body = []
    if signs or reads:
        body.append('wallet = KeyWallet(os.environ["PRIVATE_KEY"])')
    if reads:
        body.append("await imprint.login(wallet)")
    call = f"imprint.{snake_case(name)}({', '.join(_python_values(name, operation))})"
    body += _python_use(name, operation, call)
    return "\n".join([*lines, *(f"        {each}" for each in body), "", "", "asyncio.run(main())"])


def snake_case(name: str) -> str:
    """Return the name of an operation in the Python client."""
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()


def _subject(operation: Json) -> tuple[str, bool, bool]:
    """Return the operation's ID, and whether the call needs a wallet's signature and a session."""
    needs = {"session": []} in operation.get("security", ())
    return operation["operationId"], is_signed(operation), needs


def _values(operation: Json) -> Iterator[tuple[str, str, bool]]:
    """Yield the name and example of each client parameter, and whether it is required."""
    for parameter in operation.get("parameters", ()):
        name, example = parameter["name"], parameter.get("example")
        if parameter["in"] == "header" or name == IMPLIED.get(operation["operationId"]):
            continue
        if example is not None:
            yield name, example, parameter["required"]


def _typescript_values(name: str, operation: Json) -> Iterator[str]:
    if is_signed(operation):
        yield "wallet"
    if name in OBJECTS:
        if filters := _filters(name, operation):
            shown = ", ".join(f"{key}: {json.dumps(value)}" for key, value in filters.items())
            yield f"{{ {shown} }}"
        return
    yield from _common_values(name, operation)
    if name == "publishDraft":
        yield f"{{ thumbnail, hashtags: {json.dumps(_TAGS)} }}"
    elif name == "revisePost":
        yield f"{{ note: {_text(REVISION_NOTE)} }}"
    elif name == "updateProfile":
        yield f"{{ name: {_text(_PROFILE.name)}, bio: {_text(_PROFILE.bio)}, avatar }}"
    elif name == "logout":
        yield "{ all: true }"


def _python_values(name: str, operation: Json) -> Iterator[str]:
    if is_signed(operation):
        yield "wallet"
    if name in OBJECTS:
        for key, value in _filters(name, operation).items():
            yield f"{snake_case(key)}={value!r}".replace("'", '"')
        return
    yield from _common_values(name, operation)
    if name == "publishDraft":
        yield f"thumbnail=thumbnail, hashtags={json.dumps(_TAGS)}"
    elif name == "revisePost":
        yield f"note={_text(REVISION_NOTE)}"
    elif name == "updateProfile":
        yield f"name={_text(_PROFILE.name)}, bio={_text(_PROFILE.bio)}, avatar=avatar"
    elif name == "logout":
        yield "all=True"


def _common_values(name: str, operation: Json) -> Iterator[str]:
    for _, example, required in _values(operation):
        if required:
            yield json.dumps(_TAGS) if name == "listPostsByTags" else _text(example)
    for media in operation.get("requestBody", {}).get("content", {}).values():
        example = first_example(media)
        if isinstance(example, dict) and "content" in example:
            yield _text(example["content"])
        if name == "reportPost":
            yield from (_text(example[key]) for key in ("postId", "reason", "text"))


def _filters(name: str, operation: Json) -> dict[str, Any]:
    if name in FILTERS:
        return FILTERS[name]
    pages = "next_page_token"
    return {key: value for key, value, _ in _values(operation) if key != pages}


def _typescript_use(name: str, operation: Json, call: str) -> list[str]:
    if _is_list(name) and name != "listNextPage":
        return [f"for await (const each of {call}) {{", "  console.log(each);", "}"]
    before = []
    if name in _PICTURES:
        picture, file = _PICTURES[name]
        before = [f"const {picture} = new Blob([await readFile({_text(file)})]);"]
    if not _has_result(operation):
        return [*before, f"await {call};"]
    return [*before, f"console.log(await {call});"]


def _python_use(name: str, operation: Json, call: str) -> list[str]:
    if _is_list(name):
        return [f"async for each in {call}:", "    print(each)"]
    before = []
    if name in _PICTURES:
        picture, file = _PICTURES[name]
        before = [f"{picture} = Path({_text(file)}).read_bytes()"]
    if not _has_result(operation):
        return [*before, f"await {call}"]
    return [*before, f"print(await {call})"]


def _is_list(name: str) -> bool:
    return name.startswith("list") and name not in SINGLE


def _has_result(operation: Json) -> bool:
    first: str = next(iter(operation["responses"]))
    return first != "204"


def _text(value: str) -> str:
    return json.dumps(value, ensure_ascii=False)
