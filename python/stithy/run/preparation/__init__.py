"""What is checked and worked out before a run begins; nothing is created."""
