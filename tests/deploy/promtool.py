"""Prometheus' own tool, and the metrics that rules and dashboards may use."""

import re
import subprocess
from pathlib import Path

from prometheus_client import Histogram
from tools.write_tables import declared_metrics

DEPLOY = Path(__file__).parents[2] / "deploy"
ALERTS = DEPLOY / "prometheus" / "alerts.yaml"

PROCESS_METRICS = {
    "process_cpu_seconds_total",
    "process_resident_memory_bytes",
    "process_start_time_seconds",
}
"""Metrics of prometheus_client itself that the dashboard shows."""

_NAME = re.compile(r"\b(?:imprint|process)_[a-z_]+")


def run(*command: str) -> str:
    """Run promtool and return its output. If it reports anything, fail with the whole output."""
    done = subprocess.run(["promtool", *command], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def sample_names() -> set[str]:
    """Return every metric that a query may use."""
    names = set(PROCESS_METRICS)
    for name, metric in declared_metrics().items():
        suffixes = ("_bucket", "_sum", "_count") if isinstance(metric, Histogram) else ("",)
        names |= {name + suffix for suffix in suffixes}
    return names


def metrics_in(expression: str) -> set[str]:
    """Return the names of the metrics in a query."""
    return set(_NAME.findall(expression))
