"""The commands, one thin file each: the only place that prints or exits."""
