"""The identifiers that services and clients of a marketplace depend on."""

from typing import Any

import pytest

from imprint.devchain.evm import keccak256

EVENTS = {
    "PostCreated": "f753f630973e9c5274697eb346810b78c35457ef0df3e0c5c7ade5841d55ca77",
    "PostSubscribed": "c4f07abc81eeea9be4a90005faadbbbb0ddfd027f96110739619c68d7da06d24",
    "PostPriceUpdated": "ad528c798f61306a244b88624c5d602fa1fa8cc73bd73c40b6ad5920ff9cc817",
    "Transfer": "1b3d7edb2e9c0b0e7c525b20aaaef0f5940d2ed71663c7d39266ecafac728859",
}

SELECTORS = {
    "getPostInfo": "eba1e3b3",
    "postCidToTokenId": "e8be2748",
    "balanceOf": "00fdd58e",
    "nextTokenId": "75794a3c",
}

ENTRY_FIELDS = [
    ("author", "address"),
    ("postCid", "string"),
    ("postTitle", "string"),
    ("thumbnailCid", "string"),
    ("description", "string"),
    ("priceInNative", "uint256"),
]


def spell(entry: dict[str, Any]) -> str:
    return f"{entry['name']}({','.join(part['type'] for part in entry['inputs'])})"


@pytest.mark.parametrize("name", EVENTS)
def test_an_event_has_its_published_topic(market: Any, name: str) -> None:
    assert keccak256(spell(market.entry("event", name)).encode()).hex() == EVENTS[name]


@pytest.mark.parametrize("name", SELECTORS)
def test_a_getter_has_its_published_selector(market: Any, name: str) -> None:
    assert keccak256(spell(market.entry("function", name)).encode())[:4].hex() == SELECTORS[name]


def test_the_indexed_fields_of_post_created_are_token_id_and_author(market: Any) -> None:
    inputs = market.entry("event", "PostCreated")["inputs"]
    assert [part["name"] for part in inputs if part["indexed"]] == ["tokenId", "author"]


def test_an_entry_is_one_tuple_of_six_fields(market: Any) -> None:
    (output,) = market.entry("function", "getPostInfo")["outputs"]
    assert output["type"] == "tuple"
    assert [(part["name"], part["type"]) for part in output["components"]] == ENTRY_FIELDS


def test_the_legacy_interface_creates_posts_without_hashtags(legacy_market: Any) -> None:
    (given,) = legacy_market.entry("function", "createPost")["inputs"]
    names = ["postCid", "postTitle", "thumbnailCid", "description", "priceInNative"]
    assert [part["name"] for part in given["components"]] == names


def test_the_current_interface_adds_hashtags_at_the_end(own_market: Any) -> None:
    (given,) = own_market.entry("function", "createPost")["inputs"]
    assert (given["components"][-1]["name"], given["components"][-1]["type"]) == (
        "hashtags",
        "string[]",
    )


def test_the_legacy_interface_has_no_tag_event(legacy_market: Any) -> None:
    assert not [one for one in legacy_market.abi if one.get("name") == "PostTagged"]


@pytest.mark.parametrize("interface", ["0f632fb3", "01ffc9a7"])
def test_the_token_interfaces_are_supported(market: Any, interface: str) -> None:
    assert market.read("supportsInterface", bytes.fromhex(interface))


def test_an_unknown_interface_is_not_supported(market: Any) -> None:
    assert not market.read("supportsInterface", bytes.fromhex("ffffffff"))
