"""Stand-ins at the named seams: clock, runner, program."""
