"""JSON-RPC: the envelope of requests and responses."""

import json
from typing import Any

import pytest


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"", -32700),
        (b"{", -32700),
        (b"\xff", -32700),
        (b"[" * 100_000, -32700),
        (b'{"jsonrpc":"2.0","id":NaN,"method":"eth_chainId"}', -32700),
        (b"[]", -32600),
        (b"1", -32600),
        (b'"eth_chainId"', -32600),
        (b'{"id":1,"method":"eth_chainId"}', -32600),
        (b'{"jsonrpc":"1.0","id":1,"method":"eth_chainId"}', -32600),
        (b'{"jsonrpc":"2.0","id":1}', -32600),
        (b'{"jsonrpc":"2.0","id":1,"method":7}', -32600),
        (b'{"jsonrpc":"2.0","id":{},"method":"eth_chainId"}', -32600),
        (b'{"jsonrpc":"2.0","id":true,"method":"eth_chainId"}', -32600),
        (b'{"jsonrpc":"2.0","id":1e999,"method":"eth_chainId"}', -32600),
        (b'{"jsonrpc":"2.0","id":1,"method":"eth_nothing"}', -32601),
        (b'{"jsonrpc":"2.0","id":1,"method":"eth_chainId","params":{}}', -32602),
        (b'{"jsonrpc":"2.0","id":1,"method":"eth_chainId","params":[1]}', -32602),
        (b'{"jsonrpc":"2.0","id":1,"method":"eth_getBalance","params":[]}', -32602),
    ],
)
def test_an_invalid_request_gets_the_matching_error_code(
    client: Any, body: bytes, code: int
) -> None:
    assert client.post(body)["error"]["code"] == code


@pytest.mark.parametrize("identifier", [1, "one", None, 1.5])
def test_a_response_has_the_id_of_its_request(client: Any, identifier: Any) -> None:
    request = {"jsonrpc": "2.0", "id": identifier, "method": "eth_chainId"}
    response = client.post(json.dumps(request))
    assert response == {"jsonrpc": "2.0", "id": identifier, "result": "0x7a69"}


def test_batch_responses_are_in_order_and_omit_notifications(client: Any) -> None:
    batch = [
        {"jsonrpc": "2.0", "id": 1, "method": "eth_chainId"},
        {"jsonrpc": "2.0", "method": "eth_chainId"},
        7,
        {"jsonrpc": "2.0", "id": 2, "method": "eth_nothing"},
    ]
    responses = client.post(json.dumps(batch))
    assert [response["id"] for response in responses] == [1, None, 2]


def test_a_notification_is_executed_but_gets_no_response(client: Any) -> None:
    assert client.post('{"jsonrpc":"2.0","method":"evm_mine"}') is None
    assert client.ask("eth_blockNumber") == "0x1"


def test_a_batch_above_the_limit_is_refused(client: Any) -> None:
    batch = [{"jsonrpc": "2.0", "id": 1, "method": "evm_mine"}] * 1_001
    assert client.post(json.dumps(batch))["error"]["code"] == -32600
    assert client.ask("eth_blockNumber") == "0x0"
