"""Hostile backups: one function per attack, so that a finding can be replayed.

Each function creates a backup in a folder and returns its path.
"""

import os
from collections.abc import Callable
from pathlib import Path

from tests.services.backup_parts import (
    DOCUMENTS,
    catalog_of,
    entries_of,
    entry_of,
    good_catalog,
    manifest_of,
    tar_of,
    write_folder,
    write_tar,
)
from tests.services.hostile_tars import GIGABYTES, TARS

from imprint.domain.formats.cids import document_cid

# --- Catalogs ---


def _with_catalog(folder: Path, catalog: bytes, cids: tuple[str, ...] | None = None) -> Path:
    return write_tar(folder, tar_of(entries_of(catalog, manifest_of(catalog, cids))))


def catalog_that_is_no_database(folder: Path) -> Path:
    return _with_catalog(folder, b"not a database" * 1000)


def catalog_without_a_byte(folder: Path) -> Path:
    return _with_catalog(folder, b"", ())


def _changed_catalog(folder: Path, script: str) -> Path:
    return _with_catalog(
        folder, catalog_of({document_cid(each): len(each) for each in DOCUMENTS}, script)
    )


def catalog_with_a_trigger(folder: Path) -> Path:
    return _changed_catalog(
        folder,
        "CREATE TRIGGER t AFTER INSERT ON nonces BEGIN DELETE FROM files; END;",
    )


_ENDLESS = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT"


def catalog_whose_files_are_a_view_without_end(folder: Path) -> Path:
    return _changed_catalog(
        folder,
        f"""DROP TABLE files; CREATE VIEW files AS {_ENDLESS} 'a' || x AS cid, 1 AS size,
        NULL AS wrapped_key FROM n;""",
    )


def catalog_whose_migrations_are_a_view_without_end(folder: Path) -> Path:
    return _changed_catalog(
        folder,
        f"""DROP TABLE schema_migrations;
        CREATE VIEW schema_migrations AS {_ENDLESS} x AS number FROM n;""",
    )


def catalog_with_a_costly_check(folder: Path) -> Path:
    """A catalog with an expensive constraint that the integrity check evaluates for every row."""
    return _changed_catalog(
        folder,
        """CREATE TABLE more (a, CHECK (length(replace(hex(zeroblob(200000000)), '00', a)) > 0));
        PRAGMA ignore_check_constraints = ON;
        INSERT INTO more VALUES ('long'), ('longer'), ('longest');""",
    )


def catalog_with_a_virtual_table(folder: Path) -> Path:
    return _changed_catalog(folder, "CREATE VIRTUAL TABLE more USING fts5 (text);")


def catalog_with_an_index_over_an_expression(folder: Path) -> Path:
    return _changed_catalog(folder, "CREATE INDEX more ON files (hex(zeroblob(1000000)));")


def catalog_of_a_newer_version(folder: Path) -> Path:
    return _changed_catalog(folder, "INSERT INTO schema_migrations VALUES (9999, 'future');")


def catalog_before_its_first_migration(folder: Path) -> Path:
    return _changed_catalog(folder, "DELETE FROM schema_migrations;")


def catalog_whose_schema_is_no_sql(folder: Path) -> Path:
    return _changed_catalog(
        folder,
        """PRAGMA writable_schema = ON;
        UPDATE sqlite_schema SET sql = 'CREATE TABLE nonces (' WHERE name = 'nonces';""",
    )


def catalog_that_names_a_device(folder: Path) -> Path:
    """A document named `/dev/zero`: a store that used the name as a path would read endless
    zeros."""
    catalog = catalog_of({"/dev/zero": 1})
    return _with_catalog(folder, catalog, ("/dev/zero",))


def catalog_with_a_size_below_zero(folder: Path) -> Path:
    return _with_catalog(folder, catalog_of({document_cid(each): -1 for each in DOCUMENTS}))


def catalog_with_other_sizes(folder: Path) -> Path:
    return _with_catalog(folder, catalog_of({document_cid(each): 10**6 for each in DOCUMENTS}))


def catalog_with_a_dangling_reference(folder: Path) -> Path:
    return _changed_catalog(folder, "PRAGMA foreign_keys = OFF; DELETE FROM file_groups;")


def catalog_whose_pages_lead_to_each_other(folder: Path) -> Path:
    """The schema table becomes a tree in which every child of a node is the node itself."""
    page_size = 4096
    good = bytearray(good_catalog())
    page = bytearray(page_size)
    page[:100] = good[:100]
    cells = 300
    # An interior page of a table: its type, no free block, the cells, and the last child.
    page[100:112] = b"\x05\0\0" + cells.to_bytes(2, "big") + b"\x08\0\0" + (2).to_bytes(4, "big")
    for each in range(cells):
        at = page_size - 5 * (each + 1)
        page[at : at + 5] = (2).to_bytes(4, "big") + b"\x01"
        page[112 + 2 * each : 114 + 2 * each] = at.to_bytes(2, "big")
    child = bytearray(page_size)
    child[:12] = page[100:112]
    for each in range(cells):
        at = page_size - 5 * (each + 1)
        child[at : at + 5] = (2 if each else 3).to_bytes(4, "big") + b"\x01"
        child[12 + 2 * each : 14 + 2 * each] = at.to_bytes(2, "big")
    leaf = bytearray(page_size)
    leaf[:8] = b"\x0d\0\0\0\0\x10\0\0"
    return _with_catalog(folder, bytes(page + child + leaf) + bytes(good[3 * page_size :]))


def catalog_with_a_damaged_page(folder: Path) -> Path:
    good = bytearray(good_catalog())
    good[4096 : 4096 + 200] = bytes(200)
    return _with_catalog(folder, bytes(good))


# --- Folders ---


def _changed_folder(folder: Path, name: str, change: Callable[[Path], object]) -> Path:
    root = write_folder(folder, entries_of())
    path = root / name
    path.unlink(missing_ok=True)
    path.parent.mkdir(parents=True, exist_ok=True)
    change(path)
    return root


def folder_whose_manifest_is_a_device(folder: Path) -> Path:
    return _changed_folder(folder, "backup.json", lambda path: path.symlink_to("/dev/zero"))


def folder_whose_catalog_is_a_device(folder: Path) -> Path:
    return _changed_folder(folder, "imprint.db", lambda path: path.symlink_to("/dev/zero"))


def folder_whose_document_is_a_link(folder: Path) -> Path:
    name = entry_of(document_cid(DOCUMENTS[0]))
    return _changed_folder(folder, name, lambda path: path.symlink_to("/dev/zero"))


def folder_whose_document_is_a_pipe(folder: Path) -> Path:
    """Opening the pipe would block until there is a writer."""
    return _changed_folder(folder, entry_of(document_cid(DOCUMENTS[0])), os.mkfifo)


def folder_whose_manifest_is_a_pipe(folder: Path) -> Path:
    return _changed_folder(folder, "backup.json", os.mkfifo)


def _write_hole(path: Path) -> None:
    path.touch()
    os.truncate(path, GIGABYTES)


def folder_whose_manifest_has_3_gigabytes(folder: Path) -> Path:
    return _changed_folder(folder, "backup.json", _write_hole)


def folder_whose_catalog_has_3_gigabytes(folder: Path) -> Path:
    return _changed_folder(folder, "imprint.db", _write_hole)


def folder_whose_document_has_3_gigabytes(folder: Path) -> Path:
    return _changed_folder(folder, entry_of(document_cid(DOCUMENTS[0])), _write_hole)


def folders_inside_each_other(folder: Path) -> Path:
    return _changed_folder(folder, "content/" + "a/" * 200 + "b", Path.touch)


def folder_with_a_name_of_control_characters(folder: Path) -> Path:
    return _changed_folder(folder, "content/private/\x1b[2J/gone", Path.touch)


def pipe(folder: Path) -> Path:
    path = folder / "saved.tar"
    os.mkfifo(path)
    return path


BACKUPS: dict[str, Callable[[Path], Path]] = TARS | {
    name: value
    for name, value in globals().items()
    if getattr(value, "__module__", None) == __name__ and not name.startswith("_")
}
"""All hostile backups, by the name of the attack."""
