"""OpenAPI linters report no errors or warnings."""

import json

from tests.generators.conftest import HERE, Project


def test_redocly_reports_no_problems(project: Project) -> None:
    config = str(HERE / "redocly.yaml")
    said = project.run("redocly", "lint", "openapi.json", "--config", config, "--format", "json")
    report, _ = json.JSONDecoder().raw_decode(said[said.index("{") :])
    assert report["totals"] == {"errors": 0, "warnings": 0, "ignored": 0}, said


def test_spectral_reports_no_problems(project: Project) -> None:
    rules = str(HERE / "spectral.yaml")
    said = project.run(
        "spectral", "lint", "openapi.json", "--ruleset", rules, "--fail-severity", "hint"
    )
    assert "No results" in said
