"""Load on storage without a database, by fio: what is asked, how fio is asked, what it answered.

`profile` says what an I/O profile is, and `library` finds those that are shipped. `jobfile` makes
fio's job files of them, `program` runs fio, `output` and `logs` read what it answered and add it
up, and `measure` does all of that. `load` says how a pattern is run and what comes before.
"""

from stithy.needs import Package, ProgramNeed

FIO = ProgramNeed(
    name="fio",
    package=Package("fio", "fio"),
    asked=("--version",),
    # Pauses by time and duplicates from a working set came with this version.
    oldest=(3, 28),
    why="measuring drives",
)
