"""Kinds of steps, a module each: what a step of this kind is called, and what it does.

A module has `NAME`; `WHAT`, what it is in a plan, and `BRIEF`, the same in a line of many (empty
for what belongs to a window); `PHASE`: `around` the whole run, `loading`, `calibration`,
`copying` (what windows need is put in its place) or `measuring`; `PACED`: whether emulated drives
take the times of their profiles meanwhile; and `do(context, step)`, which returns in words what
came of it. What a step makes is registered before it is made, and removed by whoever owns that
kind of resource (`run/cleanup/handlers.py`).
"""
