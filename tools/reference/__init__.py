"""Pages of `docs/reference/`, written from models, tables and plug-ins by `make golden`."""
