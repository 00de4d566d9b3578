"""DAG-JSON: the nodes of an export, and the records in them."""

from contextlib import suppress

from imprint.domain.exports import NotAnExport, read_manifest, read_page, read_signed_root
from imprint.domain.formats.dag_json import NotDagJson, read_node, write_node


def check(data: bytes) -> None:
    """An accepted node is written again with the same bytes."""
    with suppress(NotDagJson):
        assert write_node(read_node(data)) == data
    for read in (read_page, read_manifest, read_signed_root):
        with suppress(NotAnExport):
            read(data)
