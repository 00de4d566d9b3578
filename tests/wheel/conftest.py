"""The built distributions and the environments they are installed in, each created once."""

from pathlib import Path
from typing import NamedTuple

import pytest
from tests.wheel.installed import Installed
from tools.distributions import build, commit_epoch


class Distributions(NamedTuple):
    """The built wheel and sdist."""

    wheel: Path
    sdist: Path


@pytest.fixture(scope="session")
def distributions(tmp_path_factory: pytest.TempPathFactory) -> Distributions:
    return Distributions(*build(tmp_path_factory.mktemp("dist"), epoch=commit_epoch()))


def _install(
    factory: pytest.TempPathFactory, distributions: Distributions, *extras: str
) -> Installed:
    installed = Installed(factory.mktemp("environment") / "venv", extras)
    installed.install(distributions.wheel)
    return installed


@pytest.fixture(scope="session")
def bare(tmp_path_factory: pytest.TempPathFactory, distributions: Distributions) -> Installed:
    """The package without extras."""
    return _install(tmp_path_factory, distributions)


@pytest.fixture(scope="session")
def with_postgresql(
    tmp_path_factory: pytest.TempPathFactory, distributions: Distributions
) -> Installed:
    return _install(tmp_path_factory, distributions, "postgresql")


@pytest.fixture(scope="session")
def with_dev(tmp_path_factory: pytest.TempPathFactory, distributions: Distributions) -> Installed:
    return _install(tmp_path_factory, distributions, "dev")


@pytest.fixture(scope="session")
def complete(tmp_path_factory: pytest.TempPathFactory, distributions: Distributions) -> Installed:
    """The package with all extras that a production service may need."""
    return _install(tmp_path_factory, distributions, "deploy", "otel", "postgresql", "s3")
