"""What is wrong with the settings, in words for the person who wrote them."""

from collections.abc import Callable
from dataclasses import dataclass, field, fields
from typing import Any, TypeVar, cast


class Unreadable(ValueError):
    """A text is no value of its setting; the message ends a sentence that begins with its name."""


class SettingsProblems(Exception):
    """Everything that is wrong with the settings, all at once, one sentence each."""

    def __init__(self, problems: list[str]) -> None:
        super().__init__("\n".join(problems))
        self.problems = problems


PREFIX = "IMPRINT_"
"""How the names of all settings begin."""

FILE_SUFFIX = "_FILE"
"""What follows the name of a setting whose value is to be read from a file."""

_Value = TypeVar("_Value")
_KEY = "setting"


@dataclass(frozen=True, slots=True)
class Setting:
    """A setting, declared once for the code, the command line and the docs.

    `default` is a text as an operator would write it; `{IMPRINT_…}` in it stands for the text of
    another setting. Without a default a setting is `required`, or its value is None.
    """

    name: str
    sentence: str
    read: Callable[[str], Any]
    default: str | None
    required: bool
    secret: bool

    @property
    def key(self) -> str:
        """The name in a TOML file."""
        return self.name.removeprefix(PREFIX).lower()


def setting(
    name: str,
    sentence: str,
    read: Callable[[str], _Value],
    default: str | None = None,
    *,
    secret: bool = False,
) -> _Value:
    """A field of a group of settings; without a default it must be given."""
    declared = Setting(PREFIX + name, sentence, read, default, default is None, secret)
    return cast(_Value, field(metadata={_KEY: declared}))


def optional(
    name: str, sentence: str, read: Callable[[str], _Value], *, secret: bool = False
) -> _Value | None:
    """A field of a group of settings that is None when nobody gives it."""
    declared = Setting(PREFIX + name, sentence, read, None, False, secret)
    return cast(_Value | None, field(metadata={_KEY: declared}))


def declared_in(group: type[Any]) -> dict[str, Setting]:
    """The settings that a group declares, by the names of its fields."""
    return {each.name: each.metadata[_KEY] for each in fields(group) if _KEY in each.metadata}
