"""One node for all attacks, and the results table at the end of the run."""

from collections.abc import Iterator

import pytest
from tests.hostile.installation import Installation, open_installation
from tests.hostile.registry import Observation
from tests.hostile.table import write_table

SEEN = pytest.StashKey[list[Observation]]()


@pytest.fixture(scope="session")
def installation(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    with open_installation(tmp_path_factory.mktemp("installation")) as opened:
        yield opened


@pytest.fixture(scope="session")
def observations(request: pytest.FixtureRequest) -> list[Observation]:
    return request.config.stash.setdefault(SEEN, [])


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    if observations := config.stash.get(SEEN, []):
        terminalreporter.section("attacks")
        for line in write_table(observations):
            terminalreporter.write_line(line)
