"""The settings of the pages for people: the site, its cards, and the operator's page."""

import re
from dataclasses import dataclass

from imprint.settings.declaration import InvalidSetting, optional, setting
from imprint.settings.parsers import choice, parse_switch, parse_text
from imprint.settings.secrets import Secret

_FEDIVERSE_NAME = re.compile(r"@[\w.-]{1,64}@[A-Za-z0-9.-]{1,253}")


def parse_fediverse_name(text: str) -> str:
    """Parse `@name@host`. Raises `InvalidSetting`."""
    if not _FEDIVERSE_NAME.fullmatch(text):
        raise InvalidSetting("must be an account like @name@example.social")
    return text


@dataclass(frozen=True, slots=True)
class Site:
    """The pages for people."""

    enabled: bool = setting(
        "SITE",
        "Whether the service has web pages: `on`, or `off` for its API alone.",
        parse_switch,
        "on",
    )
    name: str = setting("SITE_NAME", "The name of the site on its pages.", parse_text, "Imprint")
    fediverse_creator: str | None = optional(
        "FEDIVERSE_CREATOR",
        "The Fediverse account that link previews of this site name: `@name@example.social`.",
        parse_fediverse_name,
    )
    ai_training: str = setting(
        "AI_TRAINING",
        "Whether the licence at `/license.xml` (RSL) permits training models on free posts: "
        "`permit` or `prohibit`.",
        choice("permit", "prohibit"),
        "prohibit",
    )
    operator_secret: Secret | None = optional(
        "OPERATOR_SECRET",
        "The secret that opens the operator's page at `/operator`; without it, the page is 404.",
        Secret,
        secret=True,
    )
