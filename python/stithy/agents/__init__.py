"""Load from several hosts: who drives, when, and what all of them did together."""
