"""May a window's numbers be believed, and what must be said beside them?

Each file of `checks/` has a family of flags with what raises them; `judge` asks them all, and those
of the engine. What other packages ask too (headroom, invariants, baseline checks) is beside them.
"""
