"""Checks of `stithy doctor` that belong to no part: one file each.

A check is one module with `NAME` and `judge(machine)`, which yields judgements. It is pure: what it
knows it asks of the `stithy.needs.Machine` that it is given.
"""
