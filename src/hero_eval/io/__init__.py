"""From files and dataframes to the arrays of a round, with every problem of the input named at once."""
