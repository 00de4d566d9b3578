"""The declaration of a setting: its name, meaning, parser and default."""

from collections.abc import Callable
from dataclasses import dataclass, field, fields
from typing import Any, TypeVar, cast

PREFIX = "IMPRINT_"
"""The prefix of all settings."""

FILE_SUFFIX = "_FILE"
"""The suffix for a setting whose value is read from a file."""

_METADATA_KEY = "setting"
_Value = TypeVar("_Value")


class InvalidSetting(ValueError):
    """A setting cannot be parsed. The message is a phrase that follows the setting's name."""


class SettingsProblems(Exception):
    """All problems with the settings, one sentence each."""

    def __init__(self, problems: list[str]) -> None:
        super().__init__("\n".join(problems))
        self.problems = problems


@dataclass(frozen=True, slots=True)
class Setting:
    """A setting, declared once for the code, the command line and the docs.

    `default` is written as an operator would write it. `{IMPRINT_…}` in it is replaced by
    the text of that setting. A setting without a default is either `required`, or None if
    it is not set.
    """

    name: str
    sentence: str
    parse: Callable[[str], Any]
    default: str | None
    required: bool
    secret: bool

    @property
    def key(self) -> str:
        """The setting's name in a TOML file."""
        return self.name.removeprefix(PREFIX).lower()


def setting(
    name: str,
    sentence: str,
    parse: Callable[[str], _Value],
    default: str | None = None,
    *,
    secret: bool = False,
) -> _Value:
    """Declare a field of a group. Without a default, the setting is required."""
    declared = Setting(PREFIX + name, sentence, parse, default, default is None, secret)
    return cast(_Value, field(metadata={_METADATA_KEY: declared}))


def optional(
    name: str, sentence: str, parse: Callable[[str], _Value], *, secret: bool = False
) -> _Value | None:
    """Declare a field of a group that is None if the setting is not set."""
    declared = Setting(PREFIX + name, sentence, parse, None, False, secret)
    return cast(_Value | None, field(metadata={_METADATA_KEY: declared}))


def declared_in(group: type[Any]) -> dict[str, Setting]:
    """Return the settings that a group declares, by field name."""
    return {
        each.name: each.metadata[_METADATA_KEY]
        for each in fields(group)
        if _METADATA_KEY in each.metadata
    }
