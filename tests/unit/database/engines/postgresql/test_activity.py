"""The query of the collector, for each version of PostgreSQL."""

from stithy.database.engines.postgresql.activity import activity_query


def test_views_follow_the_version() -> None:
    """Each is asked only where it is there, and columns only where they are."""
    old, middle, new = (activity_query(number, "d") for number in (130000, 150000, 180000))
    assert "pg_stat_wal" not in old
    assert "pg_stat_wal" in middle
    assert "wal_sync" in middle
    assert "wal_sync" not in new
    assert "object = 'wal'" in new
    assert "pg_stat_io" not in middle
    assert "pg_stat_io" in new
    assert "checkpoints_timed" in middle
    assert "buffers_backend" in middle
    assert "pg_stat_checkpointer" in new
    assert "buffers_backend" not in new


def test_a_name_with_a_quote_stays_a_name() -> None:
    """A database may be called anything."""
    assert "datname = 'it''s'" in activity_query(150000, "it's")
