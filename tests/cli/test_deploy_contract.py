"""Tests of `imprint contract`."""

import json

from tests.cli.installations import run


def test_the_contract_is_printed_as_json():
    result = run({}, "contract")
    assert result.exit_code == 0
    printed = json.loads(result.stdout)
    assert printed.keys() == {"abi", "bytecode"}
    assert {"createPost", "getPostInfo"} <= {entry.get("name") for entry in printed["abi"]}
    assert bytes.fromhex(printed["bytecode"].removeprefix("0x"))
