"""Random typed data: messages of every type that Imprint signs, and altered writes."""

import copy
from datetime import UTC, datetime
from random import Random
from typing import Any

from tests.differences.comparison import Known, Refused
from tests.differences.random_values import (
    mutate,
    random_address,
    random_number,
    random_text,
    spell_address,
)

from imprint.auth.signed_profiles import PROFILE_TYPE
from imprint.auth.signed_revisions import REVISION_TYPE
from imprint.auth.typed_data import (
    WRITE_TYPES,
    SigningDomain,
    SigningForm,
    StructType,
    TypedDataClaim,
    WriteVerifier,
)
from imprint.auth.writing_sessions import OPENING_TYPE
from imprint.client.typed_data import TypedData
from imprint.domain.drafts.files import Action
from imprint.domain.errors import Code, Refusal
from imprint.domain.formats.addresses import checksum_address, keccak256
from imprint.domain.formats.cids import Codec, cid_of
from imprint.interface.service import SigningFacts

SERVICE = "https://imprint.example"
SECONDS = 1_700_000_000
NOW = datetime.fromtimestamp(SECONDS, UTC)
CHAIN_ID = 31_337
FACTS = SigningFacts("Imprint", "1", CHAIN_ID)
VERIFIER = WriteVerifier(SigningDomain("Imprint", "1", CHAIN_ID), SERVICE)
WRITES = [(form, action) for form in SigningForm for action in Action]
KINDS: list[StructType] = [
    *(WRITE_TYPES[form][action] for form, action in WRITES),
    PROFILE_TYPE,
    REVISION_TYPE,
    OPENING_TYPE,
]


def random_typed_data(rng: Random) -> dict[str, Any]:
    """Return a message of any type in any domain, with the digest that Imprint computes."""
    facts = SigningFacts(random_text(rng), random_text(rng), rng.randrange(2**53))
    kind = rng.choice(KINDS)
    values = {name: _random_value(rng, of) for name, of in kind.members}
    if "action" in kind.names:
        values["action"] = next(
            action
            for form, action in WRITES
            if form is SigningForm.IMPRINT_1 and WRITE_TYPES[form][action] is kind
        ).value
    typed = TypedData(kind, facts, values)
    declared = typed.declared
    # JSON cannot represent large numbers exactly.
    declared["message"] = {
        name: str(value) if isinstance(value, int) else value
        for name, value in declared["message"].items()
    }
    return {"envelope": declared, "digest": typed.digest.hex()}


def _random_value(rng: Random, kind: str) -> Any:
    match kind:
        case "string":
            return random_text(rng)
        case "string[]":
            return [random_text(rng) for _ in range(rng.randrange(4))]
        case "uint256":
            return random_number(rng)
        case "address":
            return random_address(rng)
        case "bytes32":
            return rng.randbytes(32)
        case _:
            return rng.randbytes(rng.randrange(70))


def random_write(rng: Random) -> dict[str, Any]:
    """Return a write as a client sends it, altered in most cases.

    `altered` says whether Imprint may refuse the typed data, and `stale` whether it may be too old.
    """
    form, action = rng.choice(WRITES)
    kind, address = WRITE_TYPES[form][action], random_address(rng)
    cid = cid_of(Codec.RAW, rng.randbytes(32))
    seconds = SECONDS + rng.choice([0, 0, 0, 0, -60, 60, -61, 61])
    values: dict[str, Any] = {
        "action": action.value,
        "address": spell_address(rng, address),
        "cid": cid,
        "contentHash": "0x" + rng.randbytes(32).hex(),
        "hashtags": "ink,press",
        "nonce": random_text(rng).replace("\0", "") + "1",
        "service": SERVICE,
        "thumbnailHash": "0x" + rng.randbytes(32).hex(),
        "timestamp": str(seconds) if form is SigningForm.IMPRINT_1 else seconds,
        "title": random_text(rng),
    }
    envelope = {
        "domain": {"name": "Imprint", "version": "1", "chainId": CHAIN_ID},
        "types": {kind.name: copy.deepcopy(kind.declared)},
        "primaryType": kind.name,
        "message": {name: values[name] for name, _ in kind.members},
    }
    original = copy.deepcopy(envelope)
    if rng.random() < 0.8:
        _alter(rng, envelope, kind)
    case: dict[str, Any] = {
        "envelope": envelope,
        "action": action.value,
        "address": address,
        "cid": cid,
    }
    spellings = {address, checksum_address(address), "0x" + address[2:].upper()}
    misspelled = "address" in kind.names and values["address"] not in spellings
    altered = misspelled or repr(envelope) != repr(original)
    case |= {"altered": altered, "stale": abs(seconds - SECONDS) > 60}
    return case | {"hashtags": values["hashtags"]}


def _alter(rng: Random, envelope: dict[str, Any], kind: StructType) -> None:
    """Change one part of a write, in a way that matters or does not."""
    if rng.random() < 0.7:
        _alter_declaration(rng, envelope, kind)
    else:
        _alter_message(rng, envelope["message"])


def _alter_declaration(rng: Random, envelope: dict[str, Any], kind: StructType) -> None:
    domain, types = envelope["domain"], envelope["types"]
    own = [["name", "string"], ["version", "string"], ["chainId", "uint256"]]
    declared = [{"name": name, "type": of} for name, of in own]
    match rng.randrange(10):
        case 0:
            domain["chainId"] = rng.choice([str(CHAIN_ID), hex(CHAIN_ID), CHAIN_ID + 1, 0, -1])
        case 1:
            domain[rng.choice(["name", "version"])] = random_text(rng)
        case 2:
            domain |= {rng.choice(["salt", "verifyingContract"]): "0x" + "11" * 20}
        case 3:
            types["EIP712Domain"] = rng.sample(declared, rng.randrange(1, 4))
        case 4:
            rng.shuffle(types[kind.name])
        case 5:
            kinds = ["string", "bytes32", "uint256", "uint8"]
            rng.choice(types[kind.name])["type"] = rng.choice(kinds)
        case 6:
            del envelope["primaryType"]
        case 7:
            envelope["primaryType"] = rng.choice(["EIP712Domain", mutate(rng, kind.name)])
        case _:
            types["EIP712Domain"] = declared


def _alter_message(rng: Random, message: dict[str, Any]) -> None:
    name = rng.choice(list(message))
    match rng.randrange(5):
        case 0:
            message[rng.choice(["more", mutate(rng, name)])] = "x"
        case 1:
            del message[name]
        case 2:
            seconds = rng.choice([f"0{SECONDS}", hex(SECONDS), str(SECONDS), float(SECONDS)])
            message["timestamp"] = rng.choice([seconds, SECONDS, f" {SECONDS}", -1, True, None])
        case 3:
            message[name] = mutate(rng, str(message[name]))
        case _:
            message[name] = rng.choice([None, 7, [], {}, "", str(message[name]).upper()])


def read_write(case: dict[str, Any]) -> str | Refused:
    """Return the digest of a write that Imprint accepts before it checks the signature."""
    claim = TypedDataClaim(case["envelope"], case["address"], "0x", hashtags=case["hashtags"])
    action = Action(case["action"])
    try:
        _, signed = VERIFIER.read(claim, action, NOW, case["cid"], tuple(SigningForm))
    except Refusal as refusal:
        return Refused(refusal.code)
    return keccak256(signed).hex()


def _refuses(code: Code, name: str, why: str, *, because: tuple[str, ...] = ("altered",)) -> Known:
    """Return the difference that Imprint refuses a write, which must have one of these members."""
    return Known(
        name,
        why,
        lambda case, ours, theirs: (
            isinstance(ours, Refused)
            and ours.reason == code
            and isinstance(theirs, str)
            and any(case[each] for each in because)
        ),
    )


STRICTER = (
    _refuses(
        Code.INVALID_TYPED_DATA,
        "typed data that is no write",
        "A library hashes any typed data, but Imprint accepts only its own domain, types and "
        "members.",
    ),
    _refuses(
        Code.BODY_MISMATCH,
        "a write for another request",
        "A library does not know which service, address, CID and hashtags the request has.",
    ),
    _refuses(
        Code.SIGNATURE_STALE,
        "a stale write",
        "A library does not check the timestamp, but Imprint accepts writes for one minute.",
        because=("altered", "stale"),
    ),
)
"""Writes that Imprint refuses although other libraries can hash them."""
