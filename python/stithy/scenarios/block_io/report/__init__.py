"""What block I/O shows in the report: rates, sweeps, reads beside writes, volumes, seconds."""

from stithy.scenarios.block_io.report import rates, reads_writes, seconds, sweeps

PLUGINS = (*seconds.PLUGINS, *rates.PLUGINS, *reads_writes.PLUGINS, *sweeps.PLUGINS)
