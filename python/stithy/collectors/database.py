"""What the database server does, from its own statistics: transactions, log, checkpoints, waits.

The engine of the server asks it once per second. Below are the metrics that every engine has a
value or a reason for, then those that engines have of their own.
"""

from stithy.collectors.collector import Collector, InstanceScope, LiveCollector, Scope, Unavailable
from stithy.engines.engine import Engine
from stithy.metrics import CollectedMetric
from stithy.registry import plugins

COMMON = (
    CollectedMetric("commits_per_s", "1/s", "transactions committed in the database"),
    CollectedMetric("rollbacks_per_s", "1/s", "transactions rolled back in the database"),
    CollectedMetric("blocks_read_per_s", "1/s", "blocks requested from the operating system"),
    CollectedMetric("blocks_hit_per_s", "1/s", "blocks found in the server's own buffers"),
    CollectedMetric("temp_bytes_per_s", "B/s", "bytes written to temporary files"),
    CollectedMetric("deadlocks_per_s", "1/s", "deadlocks", better="lower", negligible=0.01),
    CollectedMetric("log_bytes_per_s", "B/s", "write-ahead log inserted"),
    CollectedMetric("log_writes_per_s", "1/s", "writes of the write-ahead log"),
    CollectedMetric("log_syncs_per_s", "1/s", "syncs of the write-ahead log"),
    CollectedMetric("checkpoint_buffers_per_s", "1/s", "buffers written by checkpoints"),
    CollectedMetric("last_checkpoint_at_s", "s",
                    "Unix time at which the last complete checkpoint began", compared=False),
    CollectedMetric("maintenance_workers", "", "active workers of the server's own maintenance"),
    CollectedMetric("active_sessions", "", "active connections of users, waiting ones included"),
    CollectedMetric("waiting_sessions", "",
                    "active connections by wait type; `CPU` if they do not wait", of_several="sum"),
    CollectedMetric("waiting_sessions_by_event", "",
                    "active connections by wait event; only events that occur", of_several="sum"),
)  # fmt: skip

METRICS = (
    *COMMON,
    *dict.fromkeys(
        metric for engine in plugins(Engine).values() for metric in engine.declaration.metrics
    ),
)


def create(scope: Scope, instance: InstanceScope) -> LiveCollector:
    """The collector; Unavailable where there is no database."""
    if instance.database is None:
        raise Unavailable("there is no database to ask")
    return instance.database.activity(scope.clock)


PLUGINS = (
    Collector("database", "the database", METRICS, create_for=create, blocks=True,
              is_under_test=True),
)  # fmt: skip
