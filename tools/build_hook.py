"""Hatchling build hook that records the commit in packages built between releases."""

import os
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

VARIABLE = "IMPRINT_COMMIT"
"""Environment variable with the commit, for builds without a checkout such as image builds."""


class CommitHook(BuildHookInterface[Any]):
    """Adds the file `COMMIT` to wheels and sdists. A wheel built from an sdist reuses its file."""

    _scratch: tempfile.TemporaryDirectory[str] | None = None
    """The temporary folder that holds the file until the build has finished."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add the file of an unpacked sdist, or write a new file, unless this is a release."""
        if version == "editable" or "dev" not in self.metadata.version:
            return
        note = Path(self.root, "src/imprint/COMMIT")
        if not note.exists():
            commit = os.environ.get(VARIABLE) or _read_commit(Path(self.root))
            if not commit or commit == "unknown":
                return
            self._scratch = tempfile.TemporaryDirectory(prefix="imprint-build-")
            note = Path(self._scratch.name, "COMMIT")
            note.write_text(f"{commit}\n", "ascii")
        folder = "imprint" if self.target_name == "wheel" else "src/imprint"
        build_data["force_include"][str(note)] = f"{folder}/COMMIT"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove the files written for the build."""
        if self._scratch is not None:
            self._scratch.cleanup()


def _read_commit(root: Path) -> str:
    if not (root / ".git").exists():
        return ""
    command = ["git", "rev-parse", "HEAD"]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)  # noqa: S603
    return done.stdout.strip()
