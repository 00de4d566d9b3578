"""The `imprint` command without extras: every subcommand loads and names a missing extra."""

import shutil
import subprocess
from pathlib import Path

import pytest
from tests.wheel.installed import Installation, Installed, plain_environ

from imprint import __version__
from imprint.cli import COMMANDS
from imprint.domain.errors import CannotStart

NEEDED = {
    "backup": ["--out", "saved"],
    "erase": ["0x" + "ab" * 20, "--yes"],
    "export": ["--out", "all.car"],
    "export-site": ["--output", "site", "--base-url", "https://example.org"],
    "gc": ["--dry-run"],
    "import": ["file"],
    "migrate-content": ["--to", "embedded:there"],
    "moderate": ["log"],
    "reconcile": ["--from-block", "0"],
}
"""The minimal arguments of commands that require arguments."""

WITHOUT_SETTINGS = {
    "completion", "contract", "deploy", "dev", "migrate-catalog", "restore", "site", "verify",
}  # fmt: skip
"""Commands that need no settings, or have defaults for all of them."""


def sentence_of(done: "subprocess.CompletedProcess[str]") -> str:
    """The message of a command that could not start, after checking that there is no traceback."""
    assert (done.returncode, done.stdout) == (2, ""), done.stderr
    assert "Traceback" not in done.stderr
    return done.stderr.strip()


def test_the_version_matches_the_source(bare: Installed):
    assert bare.run("--version").stdout == f"imprint, version {__version__}\n"


@pytest.mark.parametrize("command", ["contract", "deploy", "dev", "migrate-catalog"])
def test_a_command_shows_its_help_without_its_extra(bare: Installed, command: str):
    done = bare.run(command, "--help")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(f"Usage: imprint {command} ")


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")
def test_bash_completes_commands_and_options(bare: Installed):
    script = """
    eval "$(imprint completion bash)"
    COMP_WORDS=(imprint mig) COMP_CWORD=1; _imprint_completion imprint mig imprint
    echo "${COMPREPLY[@]}"
    COMPREPLY=()
    COMP_WORDS=(imprint dev --rpc) COMP_CWORD=2; _imprint_completion imprint --rpc dev
    echo "${COMPREPLY[@]}"
    """
    environ = plain_environ()
    environ["PATH"] = f"{bare.command.parent}:{environ['PATH']}"
    done = subprocess.run(
        ["bash", "--norc", "-c", script], env=environ, capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["migrate-catalog", "migrate-content", "--rpc-port"]


@pytest.mark.parametrize("command", sorted(COMMANDS.keys() - WITHOUT_SETTINGS))
def test_without_settings_a_command_lists_the_ones_it_needs(
    bare: Installed, tmp_path: Path, command: str
):
    (tmp_path / "file").touch()
    done = bare.run(command, *NEEDED.get(command, []), cwd=tmp_path)
    lines = sentence_of(done).splitlines()
    assert lines[0] == "These settings are wrong:"
    assert "  • IMPRINT_JWT_SECRET" in " ".join(lines)[:5000]
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


@pytest.mark.parametrize("command", ["check", "serve", "events"])
def test_the_refusal_of_postgresql_without_its_extra_names_the_extra(
    bare: Installed, tmp_path: Path, command: str
):
    there = Installation(bare, tmp_path, {"IMPRINT_DATABASE_URL": "postgresql://localhost/imprint"})
    done = there.run(command)
    prefix = "Imprint cannot start. " if command == "serve" else ""
    # Lines of a list are wrapped.
    sentence = f"{prefix}{CannotStart.missing_extra('PostgreSQL', 'postgresql')}"
    assert sentence in " ".join((done.stdout + done.stderr).split())
    assert done.returncode in ((2,) if command != "check" else (1, 2))
    assert "Traceback" not in done.stderr


def test_the_refusal_to_move_records_without_the_extra_names_the_extra(
    bare: Installed, tmp_path: Path
):
    done = bare.run(
        "migrate-catalog", "--from", "sqlite:///records.db", "--to", "postgresql://localhost/there"
    )
    sentence = str(CannotStart.missing_extra("PostgreSQL", "postgresql"))
    assert sentence_of(done).splitlines()[-1] == sentence


def test_the_target_of_moved_records_is_read_from_a_file(bare: Installed, tmp_path: Path):
    command = ["migrate-catalog", "--from", "sqlite:///records.db"]
    assert "Missing option '--to'" in sentence_of(bare.run(*command))
    path = tmp_path / "url"
    there = {"IMPRINT_DATABASE_URL_FILE": str(path)}
    assert f"cannot be read: {path}" in sentence_of(bare.run(*command, settings=there))
    path.write_text("postgresql://localhost/there\n")
    done = bare.run(*command, settings=there)
    sentence = str(CannotStart.missing_extra("PostgreSQL", "postgresql"))
    assert sentence_of(done).splitlines()[-1] == sentence


def test_the_refusal_to_deploy_with_a_key_without_the_extra_names_the_extra(
    bare: Installed, tmp_path: Path
):
    key = tmp_path / "key"
    key.write_text("12" * 32)
    key.chmod(0o600)
    done = bare.run("deploy", "--rpc-url", "http://127.0.0.1:1", "--key-file", key)
    assert sentence_of(done) == str(CannotStart.missing_extra("Deploying", "deploy"))


def test_the_development_chain_without_its_extra_is_refused_with_a_message(
    bare: Installed, tmp_path: Path
):
    sentence = sentence_of(bare.run("dev", cwd=tmp_path))
    assert sentence.startswith("Imprint cannot start. ")
    assert ".whl[dev]" in sentence or "Python 3.11 or 3.12" in sentence
    assert list(tmp_path.iterdir()) == []
