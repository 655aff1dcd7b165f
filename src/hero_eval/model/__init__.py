"""Mathematics on arrays: no files, no dataframes, no printing."""
