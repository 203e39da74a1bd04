"""The rules, one file each; `rule` says what a rule is."""
