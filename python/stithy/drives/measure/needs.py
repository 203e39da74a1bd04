"""What measuring a drive needs of the machine, without importing what measures."""

from stithy.needs import Package, Program

FIO = Program(
    name="fio",
    package=Package("fio", "fio"),
    asked=("--version",),
    # Older versions have not been tried.
    oldest=(3, 20),
    why="measuring drives",
)
