"""`imprint repair`."""

import json

from tests.cli.installations import environment_of, files_in, run


def test_a_whole_installation_stays_as_it_is(here):
    before = (here / "imprint.db").stat().st_ino
    result = run(environment_of(here), "repair")
    assert (result.exit_code, "Nothing is lost." in result.output) == (0, True)
    assert (here / "imprint.db").stat().st_ino == before
    assert not list(here.glob("imprint.db.*"))


def test_what_is_lost_is_named_and_ends_with_status_1(here):
    (lost,) = [file for file in files_in(here) if file.size > 100_000]
    next((here / "content").rglob(lost.cid)).unlink()
    result = run(environment_of(here), "repair")
    assert (result.exit_code, f"The document {lost.cid} of {lost.owner}." in result.output) == (
        1,
        True,
    )


def test_the_report_can_be_read_by_programs(here):
    result = run(environment_of(here), "repair", "--json", "--dry-run")
    report = json.loads(result.output[result.output.index("{") :])
    assert (result.exit_code, report["whole"], report["dry_run"]) == (0, True, True)
    assert report["kept"] > 0


def test_a_backup_that_was_never_finished_is_refused(here, tmp_path):
    (tmp_path / "saved").mkdir()
    result = run(environment_of(here), "repair", "--backup", tmp_path / "saved")
    assert (result.exit_code, "never finished" in result.output) == (2, True)
