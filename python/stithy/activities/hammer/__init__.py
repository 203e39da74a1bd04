"""Virtual users at work, by the hammer."""
