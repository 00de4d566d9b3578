"""The alert rules in `deploy/prometheus` are valid, tested and documented."""

import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.deploy.promtool import ALERTS, metrics_in, run, sample_names

FOLDER = ALERTS.parent
ROOT = FOLDER.parents[1]
RULES: list[dict[str, Any]] = [
    rule for group in yaml.safe_load(ALERTS.read_text("utf-8"))["groups"] for rule in group["rules"]
]
TESTS: list[dict[str, Any]] = yaml.safe_load((FOLDER / "alerts.test.yaml").read_text("utf-8"))[
    "tests"
]


def anchors_of(page: Path) -> set[str]:
    """Return the anchors that GitHub generates for the headings of a page."""
    headings = re.findall(r"^#+ (.+)$", page.read_text("utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", each.lower()).replace(" ", "-") for each in headings}


def test_promtool_accepts_the_rules() -> None:
    assert f"{len(RULES)} rules found" in run("check", "rules", str(ALERTS))


def test_promtool_accepts_the_configuration() -> None:
    assert "SUCCESS" in run("check", "config", str(FOLDER / "prometheus.yaml"))


def test_the_rules_pass_their_tests() -> None:
    assert "SUCCESS" in run("test", "rules", str(FOLDER / "alerts.test.yaml"))


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule["alert"])
def test_every_alert_has_one_test_that_fires_it_and_one_that_does_not(rule: dict[str, Any]) -> None:
    asked = [
        (bool(case["exp_alerts"]), test)
        for test in TESTS
        for case in test["alert_rule_test"]
        if case["alertname"] == rule["alert"]
    ]
    assert Counter(fires for fires, _ in asked) == {True: 1, False: 1}
    # An alert that is silent because there is no data would prove nothing.
    names = {
        name for _, test in asked for each in test["input_series"] for name in [each["series"]]
    }
    for metric in metrics_in(rule["expr"]):
        assert any(name.startswith(metric) for name in names), metric


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule["alert"])
def test_every_alert_has_a_severity_and_a_runbook(rule: dict[str, Any]) -> None:
    assert rule["labels"]["severity"] in ("critical", "warning")
    assert rule["annotations"]["summary"].endswith(".")
    base, _, rest = rule["annotations"]["runbook_url"].partition("/")
    page, _, anchor = rest.partition("#")
    assert base == "{{ $externalLabels.imprint_docs }}"
    assert anchor in anchors_of(ROOT / "docs" / page)


def test_the_runbook_links_of_alerts_are_https_urls() -> None:
    configuration = yaml.safe_load((FOLDER / "prometheus.yaml").read_text("utf-8"))
    assert configuration["global"]["external_labels"]["imprint_docs"].startswith("https://")
    for test in TESTS:
        for case in test["alert_rule_test"]:
            for alert in case["exp_alerts"]:
                assert alert["exp_annotations"]["runbook_url"].startswith("https://")


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule["alert"])
def test_an_alert_uses_only_existing_metrics(rule: dict[str, Any]) -> None:
    assert metrics_in(rule["expr"]) <= sample_names()
