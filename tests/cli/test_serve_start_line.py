"""The first log line of a service shows values as spelled in the settings, without secrets."""

import pytest
from tests.settings.environments import JWT, KEY, PINATA, read

from imprint.cli.serve import describe_start

KUBO = "kubo:http://127.0.0.1:5001"


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ({"CONTENT_STORE": KUBO, "ENCRYPTION_KEY": KEY}, {"store": KUBO}),
        ({"CONTENT_STORE": "pinata"} | PINATA, {"store": "pinata"}),
        (
            {"CONTENT_STORE": "pinata-public", "ENCRYPTION_KEY": KEY} | PINATA,
            {"store": "pinata-public"},
        ),
        ({"CONTENT_STORE": "s3://bucket/imprint"}, {"store": "s3://bucket/imprint"}),
        (
            {"DATABASE_URL": "postgresql://someone:a-long-password@db.example/imprint"},
            {"database": "postgresql://db.example/imprint"},
        ),
        ({"HOST": "::1", "PORT": "8001"}, {"address": "[::1]:8001"}),
        ({"HOST": "127.0.0.1"}, {"address": "127.0.0.1:8000"}),
    ],
)
def test_store_and_database_are_shown_as_in_the_settings(
    given: dict[str, str], shown: dict[str, str]
):
    line = describe_start(read(**given))
    assert {name: line[name] for name in shown} == shown
    for secret in (JWT, KEY, PINATA["PINATA_JWT"], "a-long-password", "someone"):
        assert secret not in str(line)
