"""Every request from a client gets a response, and none makes the chain itself fail."""

import contextlib
import json
from typing import Any

import pytest
import rlp
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from imprint.devchain.chain import Chain
from imprint.devchain.methods import ACTIONS, QUERIES
from imprint.devchain.rpc import Dispatcher
from imprint.devchain.transactions import Rlp, TransactionRefused, Wallet, decode_transaction

PERSON = "0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266"
MARKETPLACE = "0x5fbdb2315678afecb367f032d93f642f64180aa3"

quantities = st.integers(min_value=0, max_value=2**256 - 1).map(hex) | st.sampled_from(
    ["0x0", "0x1", "0x5208", "0xffffffffffffffff", "0x10000000000000000", "latest", "earliest"]
)
addresses = st.sampled_from([PERSON, MARKETPLACE, "0x" + "00" * 20, "0x" + "00" * 19 + "02"])
data = st.binary(max_size=40).map(lambda one: "0x" + one.hex())
requests = st.fixed_dictionaries(
    {},
    optional={
        "from": addresses,
        "to": addresses,
        "data": data,
        "value": quantities,
        "gas": quantities,
        "nonce": quantities,
        "gasPrice": quantities,
        "maxFeePerGas": quantities,
        "maxPriorityFeePerGas": quantities,
        "accessList": st.lists(
            st.fixed_dictionaries(
                {"address": addresses, "storageKeys": st.lists(st.just("0x" + "00" * 32))}
            ),
            max_size=2,
        ),
    },
)
junk = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner),
    max_leaves=6,
)
parameters = st.lists(quantities | addresses | data | requests | junk, max_size=4)


@pytest.fixture(scope="module")
def dispatcher() -> Dispatcher:
    return Dispatcher(Chain.open(None, lambda: 1_700_000_000))


@pytest.mark.parametrize("method", sorted({*QUERIES, *ACTIONS, "eth_getLogs"}))
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(values=parameters)
def test_arbitrary_parameters_cause_no_internal_error(
    dispatcher: Dispatcher, method: str, values: list[Any]
) -> None:
    request = {"jsonrpc": "2.0", "id": 1, "method": method, "params": values}
    response = json.loads(dispatcher.respond(json.dumps(request).encode()) or b"null")
    assert response.get("error", {}).get("code") != -32603


@pytest.mark.parametrize("method", ["eth_call", "eth_estimateGas", "eth_sendTransaction"])
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(request_=requests)
def test_arbitrary_requests_cause_no_internal_error(
    dispatcher: Dispatcher, method: str, request_: dict[str, Any]
) -> None:
    request = {"jsonrpc": "2.0", "id": 1, "method": method, "params": [request_]}
    response = json.loads(dispatcher.respond(json.dumps(request).encode()) or b"null")
    assert response.get("error", {}).get("code") != -32603


def sign(kind: int) -> bytes:
    fields: dict[str, Any] = {"to": bytes(20), "gas": 50_000, "nonce": 0, "chainId": 31337}
    fields |= {"value": 0, "data": b"\x01"}
    fields |= {"maxFeePerGas": 5, "maxPriorityFeePerGas": 5} if kind == 2 else {"gasPrice": 5}
    if kind > 0:
        listed = [{"address": MARKETPLACE, "storageKeys": ["0x" + "00" * 32]}]
        fields |= {"type": kind, "accessList": listed}
    return Wallet().sign_transaction(PERSON, fields)


@pytest.mark.parametrize("kind", [0, 1, 2])
@settings(max_examples=150, deadline=None)
@given(
    index=st.integers(min_value=0, max_value=11),
    item=st.recursive(st.binary(max_size=40), lambda inner: st.lists(inner, max_size=3)),
)
def test_a_transaction_with_an_arbitrary_field_is_decoded_or_refused(
    kind: int, index: int, item: Rlp
) -> None:
    raw = sign(kind)
    fields = rlp.decode(raw[1:] if kind else raw)
    assert isinstance(fields, list)
    fields[index % len(fields)] = item
    changed = bytes([kind] if kind else []) + rlp.encode(fields)
    with contextlib.suppress(TransactionRefused):
        assert decode_transaction(changed).raw == changed


@settings(max_examples=150, deadline=None)
@given(raw=st.binary(max_size=120) | st.binary(max_size=60).map(lambda one: b"\x02\xf8" + one))
def test_arbitrary_transaction_bytes_are_refused(dispatcher: Dispatcher, raw: bytes) -> None:
    request = {"jsonrpc": "2.0", "id": 1, "method": "eth_sendRawTransaction"}
    request["params"] = ["0x" + raw.hex()]  # type: ignore[assignment]
    response = json.loads(dispatcher.respond(json.dumps(request).encode()) or b"null")
    assert response["error"]["code"] == -32000
