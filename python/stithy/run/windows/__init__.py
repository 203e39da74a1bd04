"""What is measured: a window, and what is found out around it."""
