"""What the commands that make or report a run share: watch it, ask for more, judge and end it."""
