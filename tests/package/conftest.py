"""Public names ask many things of the same rounds: these are fitted once."""

from fits_once import fits_once  # noqa: F401
