"""Clients from four generators compile, and run the walk from a draft to a reader."""

import pytest
from tests.generators.conftest import HERE, Project


@pytest.fixture(scope="module")
def typescript(project: Project) -> Project:
    """The project with both TypeScript clients, compiled."""
    project.generate("openapi-typescript")
    project.generate("@hey-api/openapi-ts")
    project.run("tsc", "--project", ".")
    return project


@pytest.fixture(scope="module")
def python(project: Project) -> Project:
    """The project with the Python client and the Python models."""
    project.generate("openapi-python-client")
    project.generate("datamodel-code-generator")
    return project


@pytest.mark.parametrize("walk", ["openapi_fetch", "hey_api"])
def test_a_typescript_client_can_publish_and_read_a_post(typescript: Project, walk: str) -> None:
    typescript.walk("node", f"built/{walk}.js")


@pytest.mark.parametrize("walk", ["python_client", "python_models"])
def test_a_python_client_can_publish_and_read_a_post(python: Project, walk: str) -> None:
    python.walk("python", f"{walk}.py")


def test_the_python_clients_pass_strict_type_checking(python: Project) -> None:
    sources = ["python_client.py", "python_models.py", "imprint_client", "imprint_models.py"]
    python.run("mypy", "--config-file", str(HERE / "mypy.ini"), *sources)


def test_no_generated_class_name_ends_in_a_digit(python: Project) -> None:
    models = (python.folder / "imprint_models.py").read_text(encoding="utf-8")
    names = [line.split("(")[0] for line in models.splitlines() if line.startswith("class ")]
    assert "class Problem" in names
    assert [name for name in names if name[-1].isdigit()] == []


def test_the_service_logged_no_server_error(typescript: Project, python: Project) -> None:
    log = python.service.process.log.read_text(encoding="utf-8")
    assert "status=200" in log
    assert "status=5" not in log
    assert "Traceback" not in log
