"""Load: virtual users at each point, on each candidate."""
