"""The drive program's side of the boundary: the Python mirror of `crates/wire/src/drive.rs`.

A job is written to standard input, messages come a line each from standard output; while the
program serves, its socket takes a command a line and gives an answer a line.
"""
