"""The checks of records name the damage that opening the catalog has found."""

import pytest

from imprint.adapters.catalog.sqlite import open_catalog
from imprint.bootstrap.checks import check_records
from imprint.domain.findings import Status
from imprint.ports.damage import Damage


@pytest.mark.parametrize("note", [Damage.note_structure, Damage.note_index])
async def test_known_damage_of_records_or_of_the_index_is_a_finding(tmp_path, note):
    catalog = open_catalog(tmp_path / "catalog.db")
    try:
        note(catalog.damage, "a page is damaged")
        found = await check_records(catalog, None, None)
    finally:
        await catalog.close()
    assert ("a page is damaged", Status.FAILED) in [(each.detail, each.status) for each in found]
