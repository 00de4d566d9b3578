"""Prometheus metrics.

Counters only increase, and gauges hold a current value. Labels have few values, so that no metric
grows with the number of files, readers or posts. Every worker has its own values, which
`server/metrics_server.py` merges. Counters are summed, including those of workers that have exited.
For a gauge, the largest value is used unless `SUMMED` or `LEAST` names it. A gauge that is NaN is
unknown and is not exported.
"""

import math
import platform
from collections.abc import Mapping

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector

from imprint import __version__

RESPONSES = Counter(
    "imprint_responses", "Responses by path, status and error code.", ["path", "status", "code"]
)
RESPONSE_SECONDS = Histogram(
    "imprint_response_seconds",
    "Response time by path and status.",
    ["path", "status"],
    buckets=(0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2, 5),
)
DEPENDENCY_SECONDS = Histogram(
    "imprint_dependency_seconds",
    "Duration of calls to the database, a node or the content store, by operation and result: "
    "ok, failed or cancelled.",
    ["dependency", "operation", "result"],
    buckets=(0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2, 5, 10, 30),
)
CONNECTIONS = Gauge("imprint_connections", "Open connections.")
CONNECTIONS_CLOSED = Counter(
    "imprint_connections_closed", "Connections closed because of a limit, by limit.", ["limit"]
)
OVERLOADS = Counter(
    "imprint_overloads",
    "Requests refused because of overload, by the limit that was reached.",
    ["limit"],
)
DELIVERIES = Counter(
    "imprint_deliveries", "Deliveries with a valid signature.", ["provider", "duplicate"]
)
EVENTS = Counter("imprint_events", "Events by source and status.", ["source", "status"])
EVENTS_UNDONE = Counter("imprint_events_undone", "Events that are no longer on the chain.")
FOLLOWED_BLOCK = Gauge("imprint_followed_block", "The block up to which the chain has been read.")
HEAD_BLOCK = Gauge("imprint_head_block", "The newest block of the node.")
CURSOR_LAG = Gauge(
    "imprint_cursor_lag_blocks", "Number of blocks by which the follower is behind the node."
)
DEEP_REORG = Gauge("imprint_deep_reorg", "1 while a block that was final has been replaced.")
HEAD_BELOW_FINAL = Gauge(
    "imprint_head_below_final", "1 while the node's newest block is below a final block."
)
FOLLOWER_RUNNING = Gauge(
    "imprint_follower_running",
    "0 if no process has followed the chain for too long, otherwise 1; also 1 if it is switched "
    "off.",
)
COLLECTOR_RUNNING = Gauge(
    "imprint_collector_running",
    "0 if no process has collected garbage for too long, otherwise 1; also 1 if it is switched "
    "off.",
)
INDEXER_RUNNING = Gauge(
    "imprint_indexer_running",
    "0 if no process has updated the index of posts for too long, otherwise 1; also 1 if it is "
    "switched off.",
)
INDEXED_BLOCK = Gauge("imprint_indexed_block", "The block up to which posts are indexed.")
INDEX_LAG = Gauge(
    "imprint_index_lag_blocks", "Number of blocks by which the index is behind the node."
)
INDEX_EVENTS = Counter("imprint_index_events", "Events applied to the index of posts.")
INDEX_UNDONE = Counter(
    "imprint_index_undone", "Logs undone in the index of posts because they left the chain."
)
INDEX_UNDECODABLE = Counter(
    "imprint_index_undecodable", "Logs of the marketplace that the index cannot decode."
)
INDEX_UNDESCRIBED = Counter(
    "imprint_index_undescribed",
    "Posts indexed without a description because no node returned it.",
)
INDEX_RESTARTS = Counter(
    "imprint_index_restarts",
    "Number of times the index was emptied, by reason.",
    ["reason"],
)
LEASE_AGE = Gauge(
    "imprint_lease_age_seconds", "Seconds since a process last held the lease.", ["lease"]
)
NODE_CONTRADICTIONS = Counter(
    "imprint_node_contradictions",
    "Number of times nodes contradicted themselves or each other about logs.",
)
DISPUTED_BLOCKS = Gauge(
    "imprint_disputed_blocks",
    "Blocks with logs that nodes omit or contradict themselves or each other about.",
)
UNREADABLE_RECEIPTS = Counter(
    "imprint_unreadable_receipts", "Receipts that no node returned; their events are not known."
)
ENTITLEMENTS = Counter(
    "imprint_entitlements",
    "Access decisions by source: from the cache or read from the chain.",
    ["from"],
)
WALLET_CHECKS = Counter(
    "imprint_wallet_checks",
    "Signatures that only a contract can verify, by result: accepted, refused, limited (not "
    "checked) or unavailable.",
    ["result"],
)
READY = Gauge(
    "imprint_ready", "The last result of the readiness probe: 2 ready, 1 degraded, 0 not ready."
)
DEPENDENCY_UP = Gauge(
    "imprint_dependency_up",
    "1 if this check of the readiness probe passes, otherwise 0.",
    ["dependency"],
)
DRAFTS = Gauge("imprint_drafts", "Stored drafts.")
POSTS = Gauge("imprint_posts", "Stored posts.")
STORED_BYTES = Gauge(
    "imprint_stored_bytes", "Bytes of the documents and thumbnails of drafts and posts."
)
DETACHED_BYTES = Gauge(
    "imprint_detached_bytes",
    "Bytes of replaced and deleted documents that have not been destroyed yet.",
)
FREE_DISK_BYTES = Gauge(
    "imprint_free_disk_bytes", "Free bytes on the fullest disk that the service writes to."
)
DOCUMENTS_DESTROYED = Counter(
    "imprint_documents_destroyed", "Documents destroyed by the garbage collector."
)
STRAYS_HELD = Gauge(
    "imprint_strays_held",
    "Documents that are not in the catalog and are held back because there are too many of them.",
)
DAMAGED_RECORDS = Gauge(
    "imprint_damaged_records", "Damaged records, and damaged structures of the database."
)
DAMAGED_DOCUMENTS = Gauge(
    "imprint_damaged_documents", "Documents that are missing from the store or damaged there."
)
HUB_NOTICES = Counter(
    "imprint_hub_notices", "Notifications of changed feeds to the WebSub hub.", ["result"]
)
ROUNDS_PUT_OFF = Counter(
    "imprint_chores_put_off",
    "Background task runs that failed, or were postponed because of a dependency.",
    ["chore"],
)

SUPERVISOR = CollectorRegistry()
"""The supervisor's own metrics, which forked workers must not count again."""

BUILD_INFO = Gauge(
    "imprint_build_info",
    "Always 1; the labels contain the versions of Imprint and Python.",
    ["version", "python"],
    registry=SUPERVISOR,
)
WORKERS = Gauge("imprint_workers", "Worker processes by state.", ["state"], registry=SUPERVISOR)
WORKER_EXITS = Counter(
    "imprint_worker_exits",
    "Workers that exited by themselves.",
    registry=SUPERVISOR,
)
RELOADS = Counter("imprint_reloads", "Reloads by result.", ["result"], registry=SUPERVISOR)
ProcessCollector(registry=SUPERVISOR)

SUMMED = frozenset(
    {"imprint_connections", "process_resident_memory_bytes", "process_virtual_memory_bytes"}
)
"""Gauges that are summed across all processes."""

LEAST = frozenset(
    {
        "imprint_collector_running",
        "imprint_dependency_up",
        "imprint_follower_running",
        "imprint_free_disk_bytes",
        "imprint_indexer_running",
        "imprint_ready",
        "process_max_fds",
        "process_start_time_seconds",
    }
)
"""Gauges for which the smallest value across all processes is used."""

for _gauge in (FOLLOWER_RUNNING, COLLECTOR_RUNNING, INDEXER_RUNNING):
    _gauge.set(1)
for _gauge in (
    CURSOR_LAG,
    DETACHED_BYTES,
    DRAFTS,
    FOLLOWED_BLOCK,
    FREE_DISK_BYTES,
    HEAD_BLOCK,
    INDEXED_BLOCK,
    INDEX_LAG,
    POSTS,
    READY,
    STORED_BYTES,
):
    _gauge.set(math.nan)
for _result in ("done", "failed"):
    RELOADS.labels(_result)
BUILD_INFO.labels(__version__, platform.python_version()).set(1)


def read_counter(
    counter: Counter, wanted: Mapping[str, str]
) -> list[tuple[Mapping[str, str], float]]:
    """Return this process's samples of a counter that have these labels."""
    return [
        (sample.labels, sample.value)
        for metric in counter.collect()
        for sample in metric.samples
        if sample.name.endswith("_total")
        and all(sample.labels.get(name) == value for name, value in wanted.items())
    ]


def read_gauge(gauge: Gauge) -> float:
    """Return the value of a gauge in this process, or NaN if it is unknown."""
    return next(sample.value for metric in gauge.collect() for sample in metric.samples)
