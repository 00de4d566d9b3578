"""Imprint and siwe accept the same login messages, except for known differences."""

import re
from typing import Any

from tests.auth.test_login_message import fields_of
from tests.differences.comparison import Known, Refused, Subject, compare, run_node
from tests.differences.login_messages import random_message

from imprint.auth.login_message import MAX_MESSAGE_BYTES, parse_login_message
from imprint.domain.errors import Refusal

KNOWN = (
    Known(
        "an address without a checksum",
        "EIP-4361 only recommends the checksum, so Imprint accepts an address in one case.",
        lambda text, ours, theirs: (
            isinstance(theirs, Refused)
            and "EIP-55" in theirs.reason
            and isinstance(ours, dict)
            and ours["address"][2:] in (ours["address"][2:].lower(), ours["address"][2:].upper())
        ),
    ),
    Known(
        "no URI",
        "Imprint's protocol makes the URI optional, but siwe requires it.",
        lambda text, ours, theirs: (
            isinstance(theirs, Refused) and isinstance(ours, dict) and "uri" not in ours
        ),
    ),
    Known(
        "a chain ID with leading zeros",
        "Imprint accepts one spelling of each number, but siwe accepts any digits.",
        lambda text, ours, theirs: (
            isinstance(ours, Refused)
            and isinstance(theirs, dict)
            and bool(re.search(r"\nChain ID: 0[0-9]+\n", text))
        ),
    ),
    Known(
        "a chain ID above 2^53",
        "JavaScript rounds large numbers, but Imprint compares the chain ID exactly.",
        lambda text, ours, theirs: (
            isinstance(ours, dict)
            and isinstance(theirs, dict)
            and ours["chainId"] > 2**53
            and ours | {"chainId": 0} == theirs | {"chainId": 0}
        ),
    ),
    Known(
        "a time that does not exist",
        "siwe checks only the digits of some times, but Imprint refuses what is no moment between "
        "the years 1 and 9999, and leap seconds.",
        lambda text, ours, theirs: (
            isinstance(ours, Refused)
            and ours.reason.startswith(("There is no such date", "There is no such time zone"))
            and isinstance(theirs, dict)
        ),
    ),
    Known(
        "a domain without a host",
        "A login is for a host, but siwe accepts an authority that has only a port or a user.",
        lambda text, ours, theirs: (
            isinstance(ours, Refused)
            and isinstance(theirs, dict)
            and bool(re.fullmatch(r"(?:[^@]*@)?(?::[0-9]*)?", theirs["domain"]))
        ),
    ),
    Known(
        "a long message",
        "Imprint limits the length of a message, but siwe does not.",
        lambda text, ours, theirs: len(text) > MAX_MESSAGE_BYTES and isinstance(ours, Refused),
    ),
)


def parse(text: str) -> dict[str, Any] | Refused:
    """Return the fields that Imprint reads from a message."""
    try:
        fields = fields_of(parse_login_message(text))
    except Refusal as refusal:
        return Refused(refusal.detail)
    return fields | ({"resources": list(fields["resources"])} if "resources" in fields else {})


def test_imprint_and_siwe_read_the_same_login_messages():
    with run_node("siwe.mjs") as siwe:
        compare(
            "siwe",
            "A random login message (EIP-4361), valid, unusual or altered, parsed by both.",
            [Subject("messages", 100, random_message, parse, siwe.ask("messages"), KNOWN)],
        )
