"""What a run has made, and how each thing of it is unmade."""
