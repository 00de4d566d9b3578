"""CIDs match those of the JavaScript importer, for trees of every shape."""

import random
import subprocess
from pathlib import Path

from imprint.domain.formats.cids import KUBO_LAYOUT, document_cid

HERE = Path(__file__).parent
CHUNK, WIDTH = KUBO_LAYOUT.chunk, KUBO_LAYOUT.width
EDGES = [0, 1, CHUNK - 1, CHUNK, CHUNK + 1, 2 * CHUNK, WIDTH * CHUNK, WIDTH * CHUNK + 1]


def test_random_contents_have_the_same_cids_in_python_and_javascript(tmp_path: Path) -> None:
    draw = random.Random(20)
    sizes = [*EDGES, *(draw.randrange(3 * CHUNK) for _ in range(24))]
    paths = [tmp_path / f"{number}-{size}" for number, size in enumerate(sizes)]
    for path, size in zip(paths, sizes, strict=True):
        path.write_bytes(draw.randbytes(size))
    command = ["node", "cids.mjs", *map(str, paths)]
    said = subprocess.run(command, cwd=HERE, capture_output=True, check=True, text=True).stdout
    assert said.split() == [document_cid(path.read_bytes()) for path in paths]
