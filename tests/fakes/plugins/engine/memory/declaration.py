"""What it says of itself without a server: nobody but its users commits."""

from stithy.engines.declaration import CommitAllowance, Declaration

ENGINE = Declaration(
    commits=CommitAllowance(fewer=0, more=0, per_connection=0, per_s=0.0),
    buffers="rows in memory",
    maintenance="nothing",
)
