"""The names of the collectors' metrics that the figures draw, in one place.

A contract test holds them to what the collectors declare.
"""

CPU = "cpu"
CPU_STATES = {
    "user": ("user_share", "nice_share"),
    "system": ("system_share",),
    "other": ("irq_share", "steal_share"),
    "iowait": ("iowait_share",),
    "idle": ("idle_share",),
}

BLOCK = "block"
OPERATIONS = {
    "read": ("reads_per_s", "read_latency_s", "read_bytes_per_s"),
    "write": ("writes_per_s", "write_latency_s", "write_bytes_per_s"),
    "flush": ("flushes_per_s", "flush_latency_s", None),
}
QUEUE = "queue_length"

PRESSURE = "pressure"
PRESSURE_SOME = "some_share"
RESOURCES = {"cpu": "CPU", "io": "storage", "memory": "memory"}

CGROUP = "cgroup"
CGROUP_USED = "used_bytes"
CGROUP_CACHE = "page_cache_bytes"

DATABASE = "database"
LOG_BYTES = "log_bytes_per_s"
LOG_FILES = "log_files_to_archive"
LOG_SYNCS = "log_syncs_per_s"
BLOCKS_READ = "blocks_read_per_s"
BLOCKS_HIT = "blocks_hit_per_s"
WAITING = "waiting_sessions"
LAST_CHECKPOINT = "last_checkpoint_at_s"
