"""Modules whose libraries an extra installs, imported when a command needs them."""

import sys
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType

from imprint.domain.errors import CannotStart

WITHOUT_DEV_CHAIN = (3, 13)
"""The first version of Python that pyrevm, which runs the contract, has no wheel for."""


def import_with_extra(module: str, what: str, extra: str) -> ModuleType:
    """Import a module that needs an extra, for `what`. Raises `CannotStart` without the extra."""
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] == "imprint":
            raise
        raise CannotStart.missing_extra(what, extra) from error


def import_dev_chain() -> ModuleType:
    """Import `cli.dev_chain`. Raises `CannotStart` if this Python or this installation cannot."""
    if sys.version_info >= WITHOUT_DEV_CHAIN and find_spec("pyrevm") is None:
        raise CannotStart(
            "The chain of imprint dev needs pyrevm, which has no release for this version of"
            " Python: use Python 3.11 or 3.12 for imprint dev."
        )
    return import_with_extra("imprint.cli.dev_chain", "imprint dev", "dev")
