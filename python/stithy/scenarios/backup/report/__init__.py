"""What a report says of backups beside users."""

from stithy.scenarios.backup.report import figures, seconds, section

PLUGINS = (*section.PLUGINS, *figures.PLUGINS, *seconds.PLUGINS)
