"""Parses signed deliveries, even malformed ones, and normalizes network names."""

import json
import re
from codecs import BOM_UTF8
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import msgspec

MAX_DEPTH = 400
"""Maximum nesting depth that is read in a malformed body."""

MAX_DOCUMENTS = 100
"""Maximum number of consecutive documents read in a malformed body."""

MAX_TOKENS = 1_000_000
"""Maximum number of strings and brackets searched for deep nesting."""

TOO_DEEP = "(nested too deep)"
"""Stands in for an array or object nested deeper than `MAX_DEPTH`."""

_LONGEST_INTEGER = 78
"""Number of digits of 2^256. Numbers with more digits stay text."""

_WHITE_SPACE = re.compile(r"\s*")
_STRING_OR_BRACKET = re.compile(r'"(?:[^"\\]++|\\.)*+"?|[\[\]{}]', re.DOTALL)


@dataclass(frozen=True, slots=True)
class Payload:
    """The JSON documents in a body, usually one.

    `problem` says what is wrong with the rest of the body, and `excerpt` is the beginning of the
    body. Problem and excerpt are empty if the body is valid JSON. A body without a document and
    without a problem is plain text from the provider, such as a heartbeat.
    """

    documents: tuple[Any, ...]
    problem: str = ""
    excerpt: str = ""


def read_payload(body: bytes, excerpt: int) -> Payload:
    """Parse the documents in a body. An excerpt has up to `excerpt` characters."""
    body = body.removeprefix(BOM_UTF8)
    try:
        return Payload((msgspec.json.decode(body),))
    except RecursionError:
        problem = "The body is nested too deeply."
    except ValueError as error:
        problem = f"The body is not JSON: {error}."
    text = body.decode("utf-8", "replace").strip()
    if not text.startswith(("{", "[")):
        return Payload(())
    try:
        documents = _read_documents(text)
    except RecursionError:
        documents = _read_documents(_cut_depth(text))
    return Payload(documents, problem, text[:excerpt])


def _read_documents(text: str) -> tuple[Any, ...]:
    """Parse documents from the start of the text up to the first malformed one.

    Numbers of any size, control characters and lone surrogates are accepted.
    """
    documents: list[Any] = []
    position = 0
    while position < len(text) and len(documents) < MAX_DOCUMENTS:
        try:
            document, position = _DECODER.raw_decode(text, position)
        except ValueError:
            break
        documents.append(document)
        found = _WHITE_SPACE.match(text, position)
        position = position if found is None else found.end()
    return tuple(documents)


def _cut_depth(text: str) -> str:
    """Replace deeply nested values in the text with `TOO_DEEP`, or cut the text off there."""
    pieces: list[str] = []
    depth = position = 0
    for count, token in enumerate(_STRING_OR_BRACKET.finditer(text)):
        bracket = token[0]
        if count == MAX_TOKENS:
            return ""
        if bracket in ("[", "{"):
            depth += 1
            if depth == MAX_DEPTH:
                pieces.append(text[position : token.start()])
        elif bracket in ("]", "}"):
            if depth == MAX_DEPTH:
                pieces.append(json.dumps(TOO_DEEP))
                position = token.end()
            depth -= 1
    return "".join(pieces) if depth >= MAX_DEPTH else "".join(pieces) + text[position:]


def _read_integer(text: str) -> int | str:
    return int(text) if len(text) <= _LONGEST_INTEGER else text


_DECODER = json.JSONDecoder(strict=False, parse_int=_read_integer, parse_constant=str)


_CHAINS = {
    1: ("eth_mainnet", "ethereum_mainnet"),
    10: ("opt_mainnet", "optimism_mainnet"),
    56: ("bnb_mainnet", "bsc_mainnet", "bsc"),
    97: ("bnb_testnet", "bsc_testnet"),
    100: ("gnosis_mainnet", "xdai_mainnet", "xdai"),
    130: ("unichain_mainnet",),
    137: ("matic_mainnet", "polygon_mainnet", "matic"),
    324: ("zksync_mainnet",),
    480: ("worldchain_mainnet", "world_mainnet"),
    1101: ("polygonzkevm_mainnet", "zkevm_mainnet"),
    2020: ("ronin_mainnet",),
    5000: ("mantle_mainnet",),
    8453: ("base_mainnet",),
    10200: ("gnosis_chiado",),
    17000: ("eth_holesky", "ethereum_holesky"),
    42161: ("arb_mainnet", "arbitrum_mainnet"),
    42170: ("arbnova_mainnet", "nova_mainnet"),
    42220: ("celo_mainnet",),
    43113: ("avax_fuji", "avalanche_testnet", "avalanche_fuji"),
    43114: ("avax_mainnet", "avalanche_mainnet"),
    59144: ("linea_mainnet",),
    80002: ("matic_amoy", "polygon_amoy"),
    81457: ("blast_mainnet",),
    84532: ("base_sepolia",),
    421614: ("arb_sepolia", "arbitrum_sepolia"),
    534352: ("scroll_mainnet",),
    560048: ("eth_hoodi", "ethereum_hoodi"),
    7777777: ("zora_mainnet",),
    11155111: ("eth_sepolia", "ethereum_sepolia"),
    11155420: ("opt_sepolia", "optimism_sepolia"),
}
"""Network names by chain id, in lower case with `_` between words."""


def network_names(chain_id: int, more: Iterable[str] = ()) -> frozenset[str]:
    """The known names of a chain and those that the operator adds, normalized."""
    return frozenset(map(simplify_name, (*_CHAINS.get(chain_id, ()), *more)))


def simplify_name(network: str) -> str:
    """A name in lower case with `_` between words, because providers spell names differently."""
    return network.strip().lower().replace("-", "_")
