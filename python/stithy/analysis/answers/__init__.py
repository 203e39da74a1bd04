"""What a whole run says: its comparisons, its findings, its thresholds, and what it lost."""
