"""What PostgreSQL's servers have in common, for who runs, judges and draws without asking one."""

from stithy.database.engines.postgresql.errors import error_class
from stithy.engines import Declaration

ENGINE = Declaration(error_class=error_class)
