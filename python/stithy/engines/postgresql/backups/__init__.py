"""The ways to back PostgreSQL up, a module each."""

from stithy.engines.postgresql.backups.basebackup import BaseBackup
from stithy.engines.postgresql.backups.dump import Dump
from stithy.engines.postgresql.backups.pgbackrest import PgBackRest

BACKUPS = (BaseBackup(), Dump(), PgBackRest())
"""The default first."""
