"""What a report says of tenants beside a neighbour."""

from stithy.scenarios.noisy_neighbour.report import figures, seconds, section

PLUGINS = (*section.PLUGINS, *figures.PLUGINS, *seconds.PLUGINS)
