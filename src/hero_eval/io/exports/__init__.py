"""What labeling and evaluation tools export, one file a tool. Each turns its export into one table of answers."""
