"""Notes the commit of a build between releases in the package; hatchling runs it."""

import os
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

VARIABLE = "IMPRINT_COMMIT"
"""Names the commit where there is no checkout, as in the build of an image."""


class CommitHook(BuildHookInterface[Any]):
    """Adds the file `COMMIT` to wheels and source distributions; the sdist keeps it for wheels."""

    _scratch: tempfile.TemporaryDirectory[str] | None = None
    """Has the file until the build has ended."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add the file of an unpacked sdist, or write one, unless this is a release."""
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
        """Remove what was written for the build."""
        if self._scratch is not None:
            self._scratch.cleanup()


def _read_commit(root: Path) -> str:
    if not (root / ".git").exists():
        return ""
    command = ["git", "rev-parse", "HEAD"]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)  # noqa: S603
    return done.stdout.strip()
