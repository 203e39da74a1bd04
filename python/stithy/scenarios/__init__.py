"""What a study can do: a folder a scenario."""
