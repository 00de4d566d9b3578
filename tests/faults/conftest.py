"""A test that uses `records` is run with both databases; the others are about SQLite or neither."""

import pytest


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "records" in metafunc.fixturenames:
        metafunc.parametrize("records", ["sqlite", "postgresql"], indirect=True, scope="module")
