"""Workloads and the hammer that drives them."""
