"""The result of one check of an installation."""

from dataclasses import dataclass
from enum import StrEnum


class Status(StrEnum):
    """How a check ended."""

    OK = "ok"
    WARNING = "warning"
    FAILED = "failed"
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True)
class Finding:
    """The finding of a check as a sentence, and what to do about it; `name` is what was checked."""

    name: str
    status: Status
    detail: str
    remedy: str = ""

    @property
    def sentence(self) -> str:
        """The detail and the remedy."""
        return f"{self.detail} {self.remedy}".strip()
