"""Metrics for Prometheus.

Counters only rise; gauges hold a current value. Labels have few values, so that no metric grows
with the number of files, readers or posts.
"""

from prometheus_client import Counter, Gauge, Histogram

RESPONSES = Counter(
    "imprint_answers", "Answers by path, status and refusal code.", ["path", "status", "code"]
)
RESPONSE_SECONDS = Histogram(
    "imprint_answer_seconds",
    "How long answers took, by path.",
    ["path"],
    buckets=(0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2, 5),
)
CONNECTIONS = Gauge("imprint_connections", "Open connections.")
CONNECTIONS_CLOSED = Counter(
    "imprint_connections_closed", "Connections that a limit closed, by the limit.", ["limit"]
)
OVERLOADS = Counter(
    "imprint_overloads", "Requests refused as overloaded, by the limit that was reached.", ["limit"]
)
DELIVERIES = Counter("imprint_deliveries", "Verified deliveries.", ["provider", "duplicate"])
EVENTS = Counter(
    "imprint_events", "Events by who brought them and what came of it.", ["source", "status"]
)
EVENTS_UNDONE = Counter("imprint_events_undone", "Events that the chain took back or denied.")
FOLLOWED_BLOCK = Gauge("imprint_followed_block", "The block up to which the chain is read.")
HEAD_BLOCK = Gauge("imprint_head_block", "The newest block that the node knows.")
DEEP_REORG = Gauge("imprint_deep_reorg", "1 while a block that was final has been replaced.")
HEAD_BELOW_FINAL = Gauge(
    "imprint_head_below_final", "1 while the node's newest block is below a block that was final."
)
FOLLOWER_RUNNING = Gauge(
    "imprint_follower_running",
    "0 while no process has followed the chain for too long; 1 also where it is switched off.",
)
COLLECTOR_RUNNING = Gauge(
    "imprint_collector_running",
    "0 while no process has collected garbage for too long; 1 also where it is switched off.",
)
for _gauge in (FOLLOWER_RUNNING, COLLECTOR_RUNNING):
    _gauge.set(1)
NODE_CONTRADICTIONS = Counter(
    "imprint_node_contradictions", "Times that nodes contradicted themselves or each other on logs."
)
UNREADABLE_RECEIPTS = Counter(
    "imprint_unreadable_receipts", "Receipts that no node returned; their events are not known."
)
ENTITLEMENTS = Counter(
    "imprint_entitlements", "Access decisions: kept ones, and those asked of the chain.", ["from"]
)
FREE_DISK_BYTES = Gauge(
    "imprint_free_disk_bytes", "Free bytes of the fullest disk that the service writes to."
)
DOCUMENTS_DESTROYED = Counter(
    "imprint_documents_destroyed", "Documents that the janitor destroyed."
)
STRAYS_HELD = Gauge(
    "imprint_strays_held",
    "Documents that the catalog does not know, held because there are too many of them.",
)
DAMAGED_RECORDS = Gauge(
    "imprint_damaged_records", "Records, and structures of the database, that are damaged."
)
DAMAGED_DOCUMENTS = Gauge(
    "imprint_damaged_documents", "Documents that are missing from the store or damaged there."
)
ROUNDS_PUT_OFF = Counter(
    "imprint_chores_put_off", "Rounds that a dependency did not allow.", ["chore"]
)
