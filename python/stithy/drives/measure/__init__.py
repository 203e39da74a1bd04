"""Drives measured: what a device or a file really does, and the profile that follows from it.

`points` says what is asked of a drive, `fio` asks it, `measuring` does it all, `measurement` keeps
it, `fit` makes the numbers of a profile of it, `profiling` writes the profile, `compare` holds two
measurements side by side. `target` sees to it that nothing of the user's is written to.
"""
