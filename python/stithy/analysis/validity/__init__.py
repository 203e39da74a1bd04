"""May a window's numbers be believed, and what must be said beside them?

One module a kind of flag (`driving`, `proof`, `ledger`, `surroundings`); `judge` asks them all.
"""
