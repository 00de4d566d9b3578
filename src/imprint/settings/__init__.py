"""Settings in three steps: names are declared, texts become checked values, secrets stay apart.

`groups` and `limits` declare each setting once. `read_settings` makes the frozen `Settings` of a
process from the environment, a TOML file and the command line, or raises `SettingsProblems` with
everything that is wrong, in words for the person who wrote them.
"""

from imprint.settings.encryption import decode_key
from imprint.settings.loader import read_settings
from imprint.settings.secrets import Secret
from imprint.settings.setting import SettingsProblems
from imprint.settings.stores import (
    EmbeddedContent,
    KuboContent,
    PinataContent,
    PostgresqlDatabase,
    SqliteDatabase,
    write_authorization,
)
from imprint.settings.table import render_markdown
from imprint.settings.values import DEVELOPMENT, SETTINGS, Settings

__all__ = [
    "DEVELOPMENT",
    "SETTINGS",
    "EmbeddedContent",
    "KuboContent",
    "PinataContent",
    "PostgresqlDatabase",
    "Secret",
    "Settings",
    "SettingsProblems",
    "SqliteDatabase",
    "decode_key",
    "read_settings",
    "render_markdown",
    "write_authorization",
]
