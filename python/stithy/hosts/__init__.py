"""Machines: starting processes, facts about the environment."""
