"""Merged metrics: sums never decrease, and each gauge has its merge rule."""

import math

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from imprint import metrics
from imprint.server.metrics_server import (
    Family,
    MergedSamples,
    decode_samples,
    encode_samples,
    read_samples,
)


def _process(responses: float, **gauges: float) -> list[Family]:
    """The samples of a process that has sent `responses` responses."""
    registry = CollectorRegistry()
    counter = Counter("imprint_responses", "Responses.", ["path"], registry=registry)
    counter.labels("/healthz").inc(responses)
    Histogram("imprint_response_seconds", "Time.", registry=registry, buckets=(1,)).observe(0.5)
    for name, value in gauges.items():
        Gauge(name, "A gauge.", registry=registry).set(value)
    return read_samples(registry)


def _merged(*processes: list[Family], ended: tuple[list[Family], ...] = ()) -> dict[str, float]:
    merged = MergedSamples()
    for each in ended:
        merged.add(each, current=False)
    for each in processes:
        merged.add(each)
    lines = generate_latest(merged).decode().splitlines()
    pairs = (line.rpartition(" ") for line in lines if not line.startswith("#"))
    return {name: float(value) for name, _, value in pairs}


def test_counters_and_histograms_of_all_processes_are_summed():
    found = _merged(_process(2), _process(3))
    assert found['imprint_responses_total{path="/healthz"}'] == 5
    assert found['imprint_response_seconds_bucket{le="1.0"}'] == 2
    assert found["imprint_response_seconds_count"] == 2
    assert found["imprint_response_seconds_sum"] == 1


def test_an_ended_process_counts_only_towards_sums():
    gone = _process(4, imprint_connections=7)
    found = _merged(_process(1, imprint_connections=2), ended=(gone, gone))
    assert found['imprint_responses_total{path="/healthz"}'] == 9
    assert found["imprint_connections"] == 2


def test_totals_of_ended_processes_can_be_merged_again():
    ended = MergedSamples()
    for _ in range(3):
        ended.add(_process(1), current=False)
    found = _merged(_process(1), ended=(ended.families(),))
    assert found['imprint_responses_total{path="/healthz"}'] == 4


def test_each_gauge_is_merged_by_its_rule():
    one = _process(0, imprint_connections=1, imprint_head_block=9, imprint_follower_running=1)
    two = _process(0, imprint_connections=2, imprint_head_block=7, imprint_follower_running=0)
    found = _merged(one, two)
    assert found["imprint_connections"] == 3
    assert found["imprint_head_block"] == 9
    assert found["imprint_follower_running"] == 0


def test_a_gauge_without_a_value_is_not_exported():
    unknown = _process(0, imprint_posts=math.nan)
    assert "imprint_posts" not in _merged(unknown)
    assert _merged(unknown, _process(0, imprint_posts=3), unknown)["imprint_posts"] == 3


def test_the_creation_time_of_a_counter_is_not_exported():
    assert not [name for name in _merged(_process(1)) if "_created" in name]


def test_the_supervisor_can_decode_encoded_samples():
    def known(families: list[Family]) -> list[str]:
        return [each.name for each in families]

    metrics.RESPONSES.labels("/healthz", "200", "").inc()
    received = decode_samples(encode_samples())
    assert known(received) == known(read_samples())
    (responses,) = [each for each in received if each.name == "imprint_responses"]
    assert ("imprint_responses_total", {"path": "/healthz", "status": "200", "code": ""}) in [
        (name, labels) for name, labels, _ in responses.samples
    ]


def test_all_gauges_with_a_merge_rule_exist():
    known = {each.name for each in read_samples()} | {
        each.name for each in read_samples(metrics.SUPERVISOR)
    }
    assert known >= metrics.SUMMED | metrics.LEAST


def test_workers_do_not_export_the_supervisors_metrics():
    theirs = {each.name for each in read_samples(metrics.SUPERVISOR)}
    ours = {each.name for each in read_samples() if each.name.startswith("imprint_")}
    assert not ours & theirs
    assert {"imprint_workers", "imprint_reloads", "imprint_build_info"} <= theirs
