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

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Write the file beside the build, unless this is a release, or the source has it."""
        root = Path(self.root)
        if version == "editable" or "dev" not in self.metadata.version:
            return
        commit = os.environ.get(VARIABLE) or _read_commit(root)
        if not commit or commit == "unknown" or (root / "src/imprint/COMMIT").exists():
            return
        note = Path(tempfile.mkdtemp(prefix="imprint-build-")) / "COMMIT"
        note.write_text(f"{commit}\n", "ascii")
        folder = "imprint" if self.target_name == "wheel" else "src/imprint"
        build_data["force_include"][str(note)] = f"{folder}/COMMIT"


def _read_commit(root: Path) -> str:
    if not (root / ".git").exists():
        return ""
    command = ["git", "rev-parse", "HEAD"]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)  # noqa: S603
    return done.stdout.strip()
