"""Linters of OpenAPI descriptions find nothing, not even a warning."""

import json

from tests.generators.conftest import HERE, Project


def test_redocly_finds_nothing(project: Project) -> None:
    config = str(HERE / "redocly.yaml")
    said = project.run("redocly", "lint", "openapi.json", "--config", config, "--format", "json")
    report, _ = json.JSONDecoder().raw_decode(said[said.index("{") :])
    assert report["totals"] == {"errors": 0, "warnings": 0, "ignored": 0}, said


def test_spectral_finds_nothing(project: Project) -> None:
    rules = str(HERE / "spectral.yaml")
    said = project.run(
        "spectral", "lint", "openapi.json", "--ruleset", rules, "--fail-severity", "hint"
    )
    assert "No results" in said
