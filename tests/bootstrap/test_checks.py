"""The record checks report the damage found when the catalog was opened."""

import pytest
from tests.stores import open_sqlite_stores

from imprint.bootstrap.checks import check_records
from imprint.domain.installation import Status
from imprint.ports.damage import Damage


@pytest.mark.parametrize("note", [Damage.note_structure, Damage.note_index])
async def test_damage_found_earlier_in_records_or_the_index_is_reported(tmp_path, note):
    stores = open_sqlite_stores(tmp_path / "catalog.db")
    try:
        note(stores.database.damage, "a page is damaged")
        found = await check_records(stores, None, None)
    finally:
        await stores.close()
    assert ("a page is damaged", Status.FAILED) in [(each.detail, each.status) for each in found]
