"""Executes steps: journal, do, journal; clean up; stop."""
