"""The checks of records name the damage that opening the catalog has found."""

import pytest
from tests.stores import open_sqlite_stores

from imprint.bootstrap.checks import check_records
from imprint.domain.installation import Status
from imprint.ports.damage import Damage


@pytest.mark.parametrize("note", [Damage.note_structure, Damage.note_index])
async def test_known_damage_of_records_or_of_the_index_is_a_finding(tmp_path, note):
    stores = open_sqlite_stores(tmp_path / "catalog.db")
    try:
        note(stores.database.damage, "a page is damaged")
        found = await check_records(stores, None, None)
    finally:
        await stores.close()
    assert ("a page is damaged", Status.FAILED) in [(each.detail, each.status) for each in found]
