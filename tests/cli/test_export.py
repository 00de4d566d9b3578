"""Tests of `imprint export`, `imprint verify` and `imprint import`."""

import json
import stat

import pytest
from tests.cli.installations import environment_of, files_in, run


def test_an_export_can_be_written_verified_and_imported_elsewhere(here, tmp_path):
    out = tmp_path / "all.car"
    exported = run(environment_of(here), "export", "--out", out)
    assert exported.exit_code == 0, exported.output
    assert "3 files are in" in exported.output
    key = exported.output.split("--key ")[1].strip()
    assert stat.S_IMODE(out.stat().st_mode) == 0o600
    assert not list(tmp_path.glob("*.partial"))
    verified = run({}, "verify", out, "--key", key)
    assert (verified.exit_code, "The export is complete: 3 files" in verified.output) == (0, True)
    there = tmp_path / "there"
    imported = run(environment_of(there), "import", out, "--key", key)
    assert (imported.exit_code, "3 files were imported" in imported.output) == (0, True)
    assert files_in(there) == files_in(here)
    again = run(environment_of(there), "import", out)
    assert "3 were already here" in again.output


def test_the_signing_key_is_created_once_and_readable_only_by_its_owner(here, tmp_path):
    outputs = [
        run(environment_of(here), "export", "--out", tmp_path / name).output
        for name in ("a.car", "b.car")
    ]
    assert outputs[0].split("--key ")[1] == outputs[1].split("--key ")[1]
    assert stat.S_IMODE((here / "export.key").stat().st_mode) == 0o600


def test_verifying_an_export_needs_no_settings(here, tmp_path, monkeypatch):
    out = tmp_path / "all.car"
    run(environment_of(here), "export", "--out", out)
    monkeypatch.chdir(tmp_path)
    assert run({}, "verify", out).exit_code == 0


def test_the_files_of_a_single_owner_can_be_exported(here, tmp_path):
    owner = files_in(here)[0].owner
    out = tmp_path / "one.car"
    result = run(environment_of(here), "export", "--out", out, "--owner", owner.upper()[2:])
    assert result.exit_code == 2
    result = run(environment_of(here), "export", "--out", out, "--owner", owner)
    assert "2 files are in" in result.output


@pytest.mark.parametrize("command", ["verify", "import"])
def test_a_damaged_export_is_refused(here, tmp_path, command):
    out = tmp_path / "all.car"
    run(environment_of(here), "export", "--out", out)
    damaged = bytearray(out.read_bytes())
    damaged[len(damaged) // 2] ^= 1
    out.write_bytes(damaged)
    there = tmp_path / "there"
    result = run(environment_of(there), command, out)
    assert result.exit_code == 1
    assert "damaged" in result.output
    if command == "import":
        assert files_in(there) == []


def test_an_export_does_not_overwrite_a_file(here, tmp_path):
    out = tmp_path / "all.car"
    out.write_text("precious")
    result = run(environment_of(here), "export", "--out", out)
    assert (result.exit_code, out.read_text()) == (2, "precious")


def test_malformed_and_wrong_keys_are_refused(here, tmp_path):
    out = tmp_path / "all.car"
    run(environment_of(here), "export", "--out", out)
    assert run({}, "verify", out, "--key", "12").exit_code == 2
    wrong = run({}, "verify", out, "--key", "12" * 32)
    assert (wrong.exit_code, "different key" in wrong.output) == (1, True)


def test_the_result_of_verifying_an_export_is_printed_as_json(here, tmp_path):
    out = tmp_path / "all.car"
    exported = run(environment_of(here), "export", "--out", out)
    verified = json.loads(run({}, "verify", out, "--json").stdout)
    assert (verified["whole"], verified["files"], verified["chain_id"]) == (True, 3, 31337)
    assert verified["key"] == exported.output.split("--key ")[1].strip()
    refused = run({}, "verify", out, "--json", "--key", "12" * 32)
    assert refused.exit_code == 1
    assert json.loads(refused.stdout)["whole"] is False
    assert "different key" in json.loads(refused.stdout)["reason"]
