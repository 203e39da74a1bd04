"""One file a family of figures; see `report.figure` for what a module here must have."""
