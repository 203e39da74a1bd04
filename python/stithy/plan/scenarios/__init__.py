"""What a study can do, one file a scenario."""
