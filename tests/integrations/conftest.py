"""Other tools show fits: the same data are fitted once."""

from fits_once import fits_once  # noqa: F401
