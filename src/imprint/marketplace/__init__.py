"""The marketplace contract shipped with Imprint: its interface and its compiled code."""

import json
from dataclasses import dataclass
from importlib import resources
from typing import Any

__all__ = ["Artifact", "artifact"]


@dataclass(frozen=True, slots=True)
class Artifact:
    """A compiled contract, as written by its build."""

    abi: list[dict[str, Any]]
    bytecode: str
    """The creation code as 0x-prefixed hex. The constructor takes no arguments."""


def artifact() -> Artifact:
    """Load the compiled marketplace."""
    text = resources.files(__name__).joinpath("Marketplace.json").read_text("utf-8")
    fields = json.loads(text)
    return Artifact(abi=fields["abi"], bytecode=fields["bytecode"])
