"""The service's settings: declared in `groups`, read and checked by `read_settings`."""

from imprint.settings.declaration import SettingsProblems
from imprint.settings.groups import Compatibility, decode_key
from imprint.settings.loader import read_settings
from imprint.settings.secrets import Secret
from imprint.settings.stores import (
    BucketContent,
    EmbeddedContent,
    KuboContent,
    PinataContent,
    PostgresqlDatabase,
    SqliteDatabase,
    authorization_header,
)
from imprint.settings.values import DEVELOPMENT, SETTINGS, Settings, find_changes

__all__ = [
    "DEVELOPMENT",
    "SETTINGS",
    "BucketContent",
    "Compatibility",
    "EmbeddedContent",
    "KuboContent",
    "PinataContent",
    "PostgresqlDatabase",
    "Secret",
    "Settings",
    "SettingsProblems",
    "SqliteDatabase",
    "authorization_header",
    "decode_key",
    "find_changes",
    "read_settings",
]
