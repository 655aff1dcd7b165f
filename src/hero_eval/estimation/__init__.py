"""From rounds and options to an estimate by a given method, and the choice of the method."""
