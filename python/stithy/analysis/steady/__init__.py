"""Whether a window was in a steady state: a label on its numbers, never a reason against them."""
