"""Rounds that accumulate: a folder of Delta Lake tables, each change one atomic commit."""
