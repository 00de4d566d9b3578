"""The dashboard in `deploy/grafana` is complete and has valid Prometheus queries."""

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.deploy.promtool import DEPLOY, metrics_in, run, sample_names
from tools.write_tables import declared_metrics

DASHBOARD: dict[str, Any] = json.loads((DEPLOY / "grafana" / "imprint.json").read_text("utf-8"))
PANELS: list[dict[str, Any]] = DASHBOARD["panels"]
QUERIES = [
    *(target["expr"] for panel in PANELS for target in panel.get("targets", [])),
    *(each["expr"] for each in DASHBOARD["annotations"]["list"]),
]
ROWS = ["Now", "Traffic", "Latency", "Refusals", "Chain", "Storage", "Process"]


def test_the_dashboard_has_the_expected_rows() -> None:
    assert [panel["title"] for panel in PANELS if panel["type"] == "row"] == ROWS


def test_every_panel_has_a_unique_id_and_no_panels_overlap() -> None:
    assert len({panel["id"] for panel in PANELS}) == len(PANELS)
    squares = Counter(
        (panel["gridPos"]["x"] + x, panel["gridPos"]["y"] + y)
        for panel in PANELS
        for x in range(panel["gridPos"]["w"])
        for y in range(panel["gridPos"]["h"])
    )
    assert max(squares.values()) == 1
    assert max(x for x, _ in squares) < 24


def test_every_panel_uses_the_chosen_data_source_and_instances() -> None:
    variables = {each["name"] for each in DASHBOARD["templating"]["list"]}
    assert variables == {"datasource", "instance"}
    for panel in PANELS:
        for target in panel.get("targets", []):
            assert target["datasource"]["uid"] == "${datasource}"
            assert 'instance=~"$instance"' in target["expr"]


def test_every_query_uses_only_existing_metrics() -> None:
    named = {name for query in QUERIES for name in metrics_in(query)}
    assert named <= sample_names()


def test_every_metric_is_on_the_dashboard() -> None:
    named = {name for query in QUERIES for name in metrics_in(query)}
    shown = {re.sub(r"_(bucket|sum|count)$", "", name) for name in named}
    assert set(declared_metrics()) <= shown


def test_prometheus_accepts_every_query(tmp_path: Path) -> None:
    rules = [
        {"record": f"query:{index}", "expr": query.replace("$__rate_interval", "1m")}
        for index, query in enumerate(QUERIES)
    ]
    file = tmp_path / "queries.yaml"
    file.write_text(yaml.safe_dump({"groups": [{"name": "queries", "rules": rules}]}))
    assert f"{len(QUERIES)} rules found" in run("check", "rules", str(file))


@pytest.mark.parametrize("panel", PANELS, ids=lambda panel: f"{panel['id']} {panel['title']}")
def test_every_panel_has_a_unit_and_a_legend(panel: dict[str, Any]) -> None:
    if panel["type"] == "row":
        return
    assert panel["fieldConfig"]["defaults"]["unit"]
    if panel["type"] == "timeseries":
        assert all(target["legendFormat"] for target in panel["targets"])
