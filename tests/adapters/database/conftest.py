"""Makes the store tests' fixtures available to the database tests."""

from tests.adapters.stores.conftest import database, kind, open_another, server, world

__all__ = ["database", "kind", "open_another", "server", "world"]
