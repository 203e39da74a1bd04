"""One folder an engine."""
