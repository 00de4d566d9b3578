"""The contracts shipped with Imprint: the marketplace and its purchase adapter."""

import json
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

__all__ = ["Artifact", "adapter_artifact", "artifact"]


@dataclass(frozen=True, slots=True)
class Artifact:
    """A compiled contract, as written by its build."""

    abi: list[dict[str, Any]]
    bytecode: str
    """The creation code as 0x-prefixed hex, without constructor arguments."""


def artifact() -> Artifact:
    """Load the compiled marketplace; its constructor takes no arguments."""
    return _load("Marketplace.json")


def adapter_artifact() -> Artifact:
    """Load the compiled purchase adapter; its constructor takes the marketplace's address."""
    return _load("PurchaseAdapter.json")


@cache
def _load(name: str) -> Artifact:
    fields = json.loads(resources.files(__name__).joinpath(name).read_text("utf-8"))
    return Artifact(abi=fields["abi"], bytecode=fields["bytecode"])
