"""The study file as written: read, checked, located; never looks at the machine."""
