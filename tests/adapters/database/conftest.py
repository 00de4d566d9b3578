"""Store fixtures, for tests of their databases."""

from tests.adapters.stores.conftest import database, kind, open_another, server, world

__all__ = ["database", "kind", "open_another", "server", "world"]
