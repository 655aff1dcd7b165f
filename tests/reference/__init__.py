"""Slow twins of the fast code, for the tests only."""
