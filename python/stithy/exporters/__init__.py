"""Pages of Prometheus exporters: what a study says of one, how it is read, what its names mean."""
