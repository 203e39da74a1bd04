"""Pure functions over results: validity, steady state, effects. No I/O."""
