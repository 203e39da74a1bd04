"""What a run has created, who owns it, and how each resource is removed."""
