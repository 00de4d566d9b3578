"""Tests of `imprint repair`."""

import asyncio
import json
import shutil
import sqlite3
from contextlib import closing
from hashlib import sha256

import pytest
from tests.cli.installations import environment_of, files_in, run
from tests.revisions import published_post, revise
from tests.world import open_world

from imprint.adapters.database.schema import INDEX_TABLES
from imprint.adapters.database.sqlite.use_lock import UseLock
from imprint.adapters.database.transaction import is_damaged, profile_checksum


def test_an_intact_installation_is_left_unchanged(here):
    before = (here / "imprint.db").stat().st_ino
    result = run(environment_of(here), "repair")
    assert (result.exit_code, "Nothing is lost." in result.output) == (0, True)
    assert (here / "imprint.db").stat().st_ino == before
    assert not list(here.glob("imprint.db.*"))


def test_a_lost_document_is_named_and_the_exit_status_is_1(here):
    (lost,) = [file for file in files_in(here) if file.size > 100_000]
    next((here / "content").rglob(lost.cid)).unlink()
    result = run(environment_of(here), "repair")
    assert (result.exit_code, f"The document {lost.cid} of {lost.owner}." in result.output) == (
        1,
        True,
    )


def test_the_report_is_machine_readable(here):
    result = run(environment_of(here), "repair", "--json", "--dry-run")
    report = json.loads(result.output[result.output.index("{") :])
    assert (result.exit_code, report["whole"], report["dry_run"]) == (0, True, True)
    assert report["kept"] > 0


def test_an_unfinished_backup_is_refused(here, tmp_path):
    (tmp_path / "saved").mkdir()
    result = run(environment_of(here), "repair", "--backup", tmp_path / "saved")
    assert (result.exit_code, "never finished" in result.output) == (2, True)


@pytest.mark.parametrize(("command", "status"), [("check", 1), ("backup --out saved.tar", 2)])
def test_an_unreadable_catalog_is_reported_with_a_hint_to_repair(here, command, status):
    (here / "imprint.db").write_bytes(b"something else" * 1000)
    result = run(environment_of(here), *command.split())
    assert (result.exit_code, "run imprint repair" in result.output) == (status, True)


def test_an_unreadable_document_file_is_reported_with_a_hint_to_repair(here):
    (here / "content" / "private" / "small.db").write_bytes(b"something else" * 1000)
    result = run(environment_of(here), "check")
    assert result.exit_code == 1
    assert "run imprint repair" in " ".join(result.output.split())


def test_a_damaged_record_is_reported_with_a_hint_to_repair(here):
    with closing(sqlite3.connect(here / "imprint.db", isolation_level=None)) as connection:
        connection.execute("DROP TRIGGER files_without_checksum")
        connection.execute("UPDATE files SET size = size + 1")
    result = run(environment_of(here), "check")
    assert (result.exit_code, "run imprint repair" in result.output) == (1, True)


def test_no_records_are_created_for_documents_of_another_installation(here, tmp_path):
    """The data folder is the right one, but the database is new and elsewhere."""
    other = tmp_path / "other.db"
    environ = environment_of(here)
    assert run(environ | {"IMPRINT_DATA_DIR": str(tmp_path / "other")}, "upgrade").exit_code == 0
    shutil.copyfile(tmp_path / "other" / "imprint.db", other)
    before = other.read_bytes()
    result = run(environ | {"IMPRINT_DATABASE_URL": f"sqlite:///{other}"}, "repair")
    assert (result.exit_code, "belongs to the installation" in result.output) == (2, True)
    assert other.read_bytes() == before


def test_a_lost_installation_id_is_restored_from_the_folder(here):
    marker = (here / "content" / "installation").read_text().strip()
    with closing(sqlite3.connect(here / "imprint.db", isolation_level=None)) as connection:
        connection.execute("DELETE FROM installation")
    (here / "imprint.db").write_bytes(_with_damaged_index(here / "imprint.db"))
    result = run(environment_of(here), "repair")
    assert result.exit_code == 0, result.output
    with closing(sqlite3.connect(here / "imprint.db")) as connection:
        found = connection.execute("SELECT id, claimed FROM installation").fetchall()
    assert found == [(marker, 1)]


@pytest.mark.parametrize("damage", ["nothing", "index", "installation", "file"])
def test_a_backup_of_another_installation_is_refused(here, tmp_path, damage):
    """A backup from before the installation got a new id is also refused."""
    environ = environment_of(here)
    assert run(environ, "backup", "--out", tmp_path / "saved.tar").exit_code == 0
    assert run(environ, "adopt", "--new-id", "--yes").exit_code == 0
    catalog = here / "imprint.db"
    if damage == "file":
        catalog.write_bytes(b"something else" * 1000)
    elif damage != "nothing":
        tree = {"index": "files_by_name", "installation": "installation"}[damage]
        catalog.write_bytes(_with_damaged_index(catalog, tree))
    before = catalog.read_bytes()
    result = run(environ, "repair", "--backup", tmp_path / "saved.tar")
    assert (result.exit_code, "is of the installation" in result.output) == (2, True)
    assert catalog.read_bytes() == before


def test_a_catalog_from_a_newer_version_is_refused(here):
    with closing(sqlite3.connect(here / "imprint.db", isolation_level=None)) as connection:
        connection.execute("INSERT INTO schema_migrations VALUES (9999, 'later')")
    (here / "imprint.db").write_bytes(_with_damaged_index(here / "imprint.db"))
    result = run(environment_of(here), "repair", "--accept-loss")
    assert (result.exit_code, "schema 9999" in result.output) == (2, True)


def test_a_backup_from_a_newer_version_is_refused(here, tmp_path):
    saved = tmp_path / "saved"
    assert run(environment_of(here), "backup", "--out", saved).exit_code == 0
    with closing(sqlite3.connect(saved / "imprint.db", isolation_level=None)) as connection:
        connection.execute("INSERT INTO schema_migrations VALUES (9999, 'later')")
    manifest = json.loads((saved / "backup.json").read_text())
    manifest["catalog_bytes"] = (saved / "imprint.db").stat().st_size
    manifest["catalog_sha256"] = sha256((saved / "imprint.db").read_bytes()).hexdigest()
    (saved / "backup.json").write_text(json.dumps(manifest))
    result = run(environment_of(here), "repair", "--backup", saved)
    assert (result.exit_code, "schema 9999" in result.output) == (2, True)


def test_a_damaged_backup_is_refused(here, tmp_path):
    saved = tmp_path / "saved"
    assert run(environment_of(here), "backup", "--out", saved).exit_code == 0
    (saved / "imprint.db").write_bytes(_with_damaged_index(saved / "imprint.db"))
    result = run(environment_of(here), "repair", "--backup", saved)
    assert (result.exit_code, "checksum is wrong" in result.output) == (2, True)


def test_an_installation_in_use_is_refused(here):
    with closing(UseLock(here / "imprint.db")):
        result = run(environment_of(here), "repair")
    assert (result.exit_code, "Another process has" in result.output) == (2, True)


def test_an_unreadable_catalog_is_not_discarded_without_a_backup(here):
    (here / "imprint.db").write_bytes(b"something else" * 1000)
    result = run(environment_of(here), "repair", "--accept-loss")
    assert (result.exit_code, "Nothing was changed. Name a backup" in result.output) == (1, True)
    assert (here / "imprint.db").read_bytes() == b"something else" * 1000


def test_a_schema_that_is_not_valid_text_is_reported_as_damage(here, tmp_path):
    """SQLite quotes the damaged schema in its error message."""
    environ = environment_of(here)
    assert run(environ, "backup", "--out", tmp_path / "saved.tar").exit_code == 0
    before = files_in(here)
    with closing(sqlite3.connect(here / "imprint.db", isolation_level=None)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    content = (here / "imprint.db").read_bytes()
    damaged = content.replace(b"CREATE TABLE owners (", b"CREATE TABLE owners \xb8", 1)
    assert damaged != content
    (here / "imprint.db").write_bytes(damaged)
    result = run(environ, "repair", "--backup", tmp_path / "saved.tar")
    assert (result.exit_code, "The catalog cannot be opened" in result.output) == (1, True)
    assert files_in(here) == before


def test_a_record_missing_from_backups_is_discarded_only_with_consent(here):
    path = here / "imprint.db"
    lost = files_in(here)[0]
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("DROP TRIGGER files_without_checksum")
        connection.execute("UPDATE files SET size = size + 1 WHERE id = ?", (lost.id,))
    for options in ((), ("--accept-loss", "--dry-run")):
        result = run(environment_of(here), "repair", *options)
        assert (result.exit_code, lost.name in result.output) == (1, True)
        assert not list(here.glob("imprint.db.damaged-*"))
    result = run(environment_of(here), "repair", "--accept-loss")
    assert (result.exit_code, lost.name in result.output) == (1, True)
    assert "1 documents have no record" in " ".join(result.output.split())
    assert lost.id not in {file.id for file in files_in(here)}
    assert run(environment_of(here), "repair").exit_code == 0


DERIVED = ("counters", "events", "installation", "owners", "schema_migrations", "tags")


@pytest.mark.parametrize("table", DERIVED)
def test_damage_in_a_derived_table_loses_nothing(here, table):
    """The node does not respond, so a post stays a draft until the chain is read."""
    before = {file.id for file in files_in(here)}
    (here / "imprint.db").write_bytes(_with_damaged_index(here / "imprint.db", table))
    result = run(environment_of(here), "repair")
    assert (result.exit_code, "Nothing is lost." in result.output) == (0, True), result.output
    assert {file.id for file in files_in(here)} == before
    assert run(environment_of(here), "repair").exit_code == 0


def test_incorrect_tags_are_recomputed(here):
    with closing(sqlite3.connect(here / "imprint.db", isolation_level=None)) as connection:
        connection.execute("UPDATE tags SET posts = posts + 1")
        connection.execute("DELETE FROM file_tags")
    result = run(environment_of(here), "repair")
    assert (result.exit_code, "the tags of file" in result.output) == (0, True), result.output
    with closing(sqlite3.connect(here / "imprint.db")) as connection:
        assert connection.execute("SELECT tag, posts, drafts FROM tags").fetchall() == [
            ("essay", 0, 1)
        ]
        assert connection.execute("SELECT tag, state FROM file_tags").fetchall() == [
            ("essay", "pending")
        ]


def test_unrecoverable_hashtags_are_reported_with_their_file(here):
    path = here / "imprint.db"
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("DROP TRIGGER file_groups_without_checksum")
        connection.execute("UPDATE file_groups SET hashtags = '[]' WHERE hashtags <> '[]'")
    (tagged,) = files_in_damaged(path)
    result = run(environment_of(here), "repair", "--accept-loss")
    sentence = f"The hashtags and the thumbnail of the file {tagged}."
    assert (result.exit_code, sentence in " ".join(result.output.split())) == (1, True)


def files_in_damaged(path):
    """Return the names of files whose group is damaged."""
    with closing(sqlite3.connect(path)) as connection:
        connection.row_factory = sqlite3.Row
        rows = connection.execute("SELECT * FROM file_groups").fetchall()
        damaged = [row["id"] for row in rows if is_damaged("file_groups", row)]
        select = "SELECT name FROM files WHERE group_id = ?"
        return [name for each in damaged for (name,) in connection.execute(select, (each,))]


@pytest.mark.parametrize("tree", ["posts", "posts_by_author", "post_search_content", "index_undo"])
def test_damage_in_the_index_resets_it_and_loses_no_records(here, tree):
    feed = ("d2719f6a-0000-4000-8000-000000000001", "0x" + "1" * 40, "0" * 64, 1, None)
    with closing(sqlite3.connect(here / "imprint.db", isolation_level=None)) as connection:
        connection.execute("INSERT INTO private_feeds VALUES (?, ?, ?, ?, ?)", feed)
        connection.execute("INSERT INTO market_days VALUES (1, 1, 1, '1')")
        connection.execute("INSERT INTO post_search (rowid, title) VALUES (1, 'words')")
    before = files_in(here)
    (here / "imprint.db").write_bytes(_with_damaged_index(here / "imprint.db", tree))
    result = run(environment_of(here), "check", "--deep")
    assert (result.exit_code, "run imprint repair" in result.output) == (1, True)
    result = run(environment_of(here), "repair")
    assert result.exit_code == 0, result.output
    assert "The index of posts is rebuilt" in result.output
    assert files_in(here) == before
    with closing(sqlite3.connect(here / "imprint.db")) as connection:
        assert connection.execute("SELECT * FROM private_feeds").fetchall() == [feed]
        for table in INDEX_TABLES - {"market_totals"}:
            assert connection.execute(f"SELECT * FROM {table}").fetchall() == [], table


def test_lost_private_feeds_are_reported_but_not_restored_from_a_backup(here, tmp_path):
    """A feed may have been revoked after the backup was made."""
    with closing(sqlite3.connect(here / "imprint.db", isolation_level=None)) as connection:
        connection.execute("INSERT INTO private_feeds VALUES ('f', '0x1', 't', 1, NULL)")
    environ = environment_of(here)
    assert run(environ, "backup", "--out", tmp_path / "saved.tar").exit_code == 0
    (here / "imprint.db").write_bytes(_with_damaged_index(here / "imprint.db", "private_feeds"))
    result = run(environ, "repair", "--backup", tmp_path / "saved.tar")
    assert (result.exit_code, "Private feeds that could not be read" in result.output) == (1, True)
    with closing(sqlite3.connect(here / "imprint.db")) as connection:
        assert connection.execute("SELECT * FROM private_feeds").fetchall() == []


PROFILE = ("0x" + "1" * 40, "Ada", "Words.", "", None, 0, 7, None)


def test_lost_profiles_are_restored_from_a_backup(here, tmp_path):
    with closing(sqlite3.connect(here / "imprint.db", isolation_level=None)) as connection:
        connection.execute("INSERT INTO profiles VALUES (?, ?, ?, ?, ?, ?, ?, ?)", PROFILE)
    environ = environment_of(here)
    assert run(environ, "backup", "--out", tmp_path / "saved.tar").exit_code == 0
    (here / "imprint.db").write_bytes(_with_damaged_index(here / "imprint.db", "profiles"))
    run(environ, "repair", "--backup", tmp_path / "saved.tar")
    with closing(sqlite3.connect(here / "imprint.db")) as connection:
        assert connection.execute("SELECT * FROM profiles").fetchall() == [PROFILE]


@pytest.mark.parametrize("damage", ["table", "row"])
def test_lost_revisions_are_restored_from_a_backup(here, tmp_path, damage):
    asyncio.run(_revise(here))
    before = _revisions_in(here)
    environ, saved = environment_of(here), tmp_path / "saved.tar"
    assert run(environ, "backup", "--out", saved).exit_code == 0
    if damage == "table":
        (here / "imprint.db").write_bytes(_with_damaged_index(here / "imprint.db", "revisions"))
    else:
        with closing(sqlite3.connect(here / "imprint.db", isolation_level=None)) as connection:
            connection.execute("UPDATE revisions SET note = 'Forged.'")
    result = run(environ, "check", "--deep")
    assert (result.exit_code, "run imprint repair" in result.output) == (1, True)
    result = run(environ, "repair", "--backup", saved)
    assert "Corrections of posts that could not be read" in result.output
    assert _revisions_in(here) == before
    assert "run imprint repair" not in run(environ, "check", "--deep").output


async def _revise(folder):
    async with open_world(folder) as world:
        author = world.wallet(2)
        post = await published_post(world, author)
        await revise(world, author, post, "A better text.")


def _revisions_in(here):
    with closing(sqlite3.connect(here / "imprint.db")) as connection:
        return connection.execute("SELECT * FROM revisions").fetchall()


REPORT = ("r", "7", "abuse", "Rude.", "", 5, None)
LOSSES = {
    "measure_log": "Decisions of the operator that could not be read",
    "reports": "Reports of readers that could not be read",
    "profiles": "Profiles that could not be read",
}


def _add_of_desk(here):
    """Take two moderation measures, add a report and a profile, and return their tables' rows."""
    for words in (("withhold", "tag", "ink"), ("unlist", "author", PROFILE[0])):
        assert run(environment_of(here), "moderate", *words).exit_code == 0
    with closing(sqlite3.connect(here / "imprint.db", isolation_level=None)) as connection:
        connection.execute("INSERT INTO profiles VALUES (?, ?, ?, ?, ?, ?, ?, ?)", PROFILE)
        connection.execute("INSERT INTO reports VALUES (?, ?, ?, ?, ?, ?, ?)", REPORT)
    return _read_of_desk(here)


def _read_of_desk(here):
    with closing(sqlite3.connect(here / "imprint.db")) as connection:
        return {each: connection.execute(f"SELECT * FROM {each}").fetchall() for each in LOSSES}


def test_a_repair_keeps_measures_reports_and_profiles(here):
    before = _add_of_desk(here)
    (here / "imprint.db").write_bytes(_with_damaged_index(here / "imprint.db"))
    result = run(environment_of(here), "repair")
    assert result.exit_code == 0, result.output
    assert _read_of_desk(here) == before


@pytest.mark.parametrize("table", LOSSES)
@pytest.mark.parametrize("with_backup", [True, False])
def test_a_lost_moderation_or_profile_table_is_restored_from_a_backup(
    here, tmp_path, table, with_backup
):
    before = _add_of_desk(here)
    environ, saved = environment_of(here), tmp_path / "saved.tar"
    assert run(environ, "backup", "--out", saved).exit_code == 0
    (here / "imprint.db").write_bytes(_with_damaged_index(here / "imprint.db", table))
    result = run(environ, "check", "--deep")
    assert (result.exit_code, "run imprint repair" in result.output) == (1, True)
    result = run(environ, "repair", *(("--backup", saved) if with_backup else ("--accept-loss",)))
    assert result.exit_code == 1, result.output
    assert LOSSES[table] in " ".join(result.output.split())
    assert _read_of_desk(here) == (before if with_backup else before | {table: []})
    assert "run imprint repair" not in run(environ, "check", "--deep").output


@pytest.mark.parametrize(
    "change", ["measure_log SET target = 'pen' WHERE id = 1", "profiles SET name = 'Eve'"]
)
def test_a_changed_measure_or_profile_is_restored_from_a_backup(here, tmp_path, change):
    before = _add_of_desk(here)
    table = change.partition(" ")[0]
    environ, saved = environment_of(here), tmp_path / "saved.tar"
    if table == "profiles":
        with closing(sqlite3.connect(here / "imprint.db", isolation_level=None)) as connection:
            connection.create_function("checksum", -1, profile_checksum)
            connection.execute(
                "UPDATE profiles SET checksum = checksum(address, name, bio, links, avatar_cid,"
                " updated_at)"
            )
        before = _read_of_desk(here)
    assert run(environ, "backup", "--out", saved).exit_code == 0
    with closing(sqlite3.connect(here / "imprint.db", isolation_level=None)) as connection:
        connection.execute(f"UPDATE {change}")
    result = run(environ, "check", "--deep")
    assert (result.exit_code, "run imprint repair" in result.output) == (1, True)
    run(environ, "repair", "--backup", saved)
    assert _read_of_desk(here) == before


ENDED = ("0x" + "1" * 40, 7, 8)
SESSIONS = ("ended_sessions", "writing_sessions")


def test_a_repair_keeps_ended_sessions_but_drops_writing_sessions(here):
    _add_sessions(here)
    (here / "imprint.db").write_bytes(_with_damaged_index(here / "imprint.db"))
    result = run(environment_of(here), "repair")
    assert result.exit_code == 0, result.output
    assert "All writing sessions were ended" in " ".join(result.output.split())
    assert _read_sessions(here) == ([ENDED], [])


def test_a_repair_without_damage_keeps_writing_sessions(here):
    _add_sessions(here)
    result = run(environment_of(here), "repair")
    assert (result.exit_code, "Writing sessions" in result.output) == (0, False)
    ended, writing = _read_sessions(here)
    assert (ended, len(writing)) == ([ENDED], 1)


@pytest.mark.parametrize("tree", SESSIONS)
def test_lost_sessions_are_reported_only_if_one_could_become_valid_again(here, tmp_path, tree):
    _add_sessions(here)
    environ = environment_of(here)
    assert run(environ, "backup", "--out", tmp_path / "saved.tar").exit_code == 0
    (here / "imprint.db").write_bytes(_with_damaged_index(here / "imprint.db", tree))
    result = run(environ, "repair", "--backup", tmp_path / "saved.tar")
    assert result.exit_code == int(tree == "ended_sessions"), result.output
    assert ("IMPRINT_JWT_SECRET ends all" in " ".join(result.output.split())) == result.exit_code
    assert _read_sessions(here) == ([ENDED], [])


def test_a_later_session_generation_is_not_overwritten_from_a_backup(here, tmp_path):
    _add_sessions(here)
    environ = environment_of(here)
    assert run(environ, "backup", "--out", tmp_path / "saved.tar").exit_code == 0
    with closing(sqlite3.connect(here / "imprint.db", isolation_level=None)) as connection:
        # Enough rows for several pages, of which one is lost.
        connection.executemany(
            "INSERT INTO ended_sessions VALUES (?, 1, 9)", [(f"0-{n:064x}",) for n in range(400)]
        )
        connection.execute("UPDATE ended_sessions SET generation = 70, expires_at = 80")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    content = (here / "imprint.db").read_bytes()
    pages = [content[at : at + 4096] for at in range(0, len(content), 4096)]
    lost = next(n for n, page in enumerate(pages) if f"0-{0:064x}".encode() in page)
    pages[lost] = bytes(4096)
    (here / "imprint.db").write_bytes(b"".join(pages))
    result = run(environ, "repair", "--backup", tmp_path / "saved.tar")
    assert (result.exit_code, "Ended sessions" in result.output) == (1, True)
    ended, _ = _read_sessions(here)
    assert (ENDED[0], 70, 80) in ended


def _add_sessions(here):
    with closing(sqlite3.connect(here / "imprint.db", isolation_level=None)) as connection:
        connection.execute("INSERT INTO ended_sessions VALUES (?, ?, ?)", ENDED)
        connection.execute(
            "INSERT INTO writing_sessions VALUES ('id', ?, x'04', 'create', 1, 2, 3)", ENDED[:1]
        )


def _read_sessions(here):
    with closing(sqlite3.connect(here / "imprint.db")) as connection:
        return tuple(connection.execute(f"SELECT * FROM {name}").fetchall() for name in SESSIONS)


@pytest.mark.parametrize("release", [5, 6])
def test_a_catalog_of_an_earlier_release_is_repaired_without_newer_tables(here, release):
    path = here / "imprint.db"
    before = files_in(here)
    missing = {5: ("private_feeds", *SESSIONS), 6: SESSIONS}[release]
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for table in (*missing, *(INDEX_TABLES if release == 5 else ())):
            connection.execute(f"DROP TABLE {table}")
        connection.execute("DELETE FROM schema_migrations WHERE number > ?", (release,))
    path.write_bytes(_with_damaged_index(path))
    result = run(environment_of(here), "repair")
    assert result.exit_code == 0, result.output
    assert not any(table in result.output for table in missing)
    assert files_in(here) == before


def _with_damaged_index(path, tree="files_by_name"):
    """Return the bytes of a catalog in which the root page of a table or index is zeroed."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        (root,) = connection.execute(
            "SELECT rootpage FROM sqlite_schema WHERE name = ?", (tree,)
        ).fetchone()
    content = bytearray(path.read_bytes())
    content[(root - 1) * 4096 : root * 4096] = bytes(4096)
    return bytes(content)
