"""Each value has a single encoding in DAG-JSON."""

import pytest

from imprint.domain.formats.cids import Cid
from imprint.domain.formats.dag_json import Link, NotDagJson, read_node, write_node

CID = Cid("bafkreifzjut3te2nhyekklss27nh3k72ysco7y32koao5eei66wof36n5e")


def test_a_node_has_a_single_encoding():
    value = {"b": [1, None, "ü"], "a": Link(CID), "c": b"\xff\x00"}
    assert write_node(value).decode() == (
        f'{{"a":{{"/":"{CID}"}},"b":[1,null,"ü"],"c":{{"/":{{"bytes":"/wA"}}}}}}'
    )
    assert read_node(write_node(value)) == value


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{",
        b'{"a": 1}',
        b'{"b":1,"a":2}',
        b'{"a":1,"a":1}',
        b'"\\u00fc"',
        b'{"/":"bafy"}',
        b'{"/":1}',
        b'{"/":["bafy"]}',
        b'{"/":{"a":1}}',
        b'{"/":null}',
        b'{"/":{"bytes":["a"]}}',
        b'{"/":{"bytes":1}}',
        b"9" * 5000,
        b'{"/":{"bytes":"/wA="}}',
        b'{"bytes":"/wA"}',
        b"\xff",
        b"[" * 100_000,
        b"NaN",
        b"1.5",
    ],
)
def test_a_non_canonical_node_is_refused(data):
    with pytest.raises(NotDagJson):
        read_node(data)
