"""Profiles of drives that nobody sells, for tests of real drives."""

import re


def drive(
    *,
    size_bytes: int = 2**25,
    channels: int = 64,
    times_ms: tuple[float, float] = (16, 16),
    bytes_per_s: float = 1e12,
    flush_ms: float = 0.0,
    more: str = "",
    read: str = "",
) -> str:
    """Write a profile: medians and 99th percentiles of 4 KiB in ms, and further tables."""
    p50_us, p99_us = (1000 * each for each in times_ms)
    access = f"p50_us = {p50_us}\np99_us = {p99_us}\nbytes_per_s = {bytes_per_s}"
    tables = ["capacity_bytes", "channels", "read", "write", "flush"]
    tables += re.findall(r"\[(\w+)\]", more)
    return f"""version = 1
name = "made-up"
title = "made up"
capacity_bytes = {size_bytes}
channels = {channels}
[read]
{read or access}
[write]
{access}
[flush]
cost_us = {1000 * flush_ms}
{more}
[provenance]
assumed = {tables}
"""
