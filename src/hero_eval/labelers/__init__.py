"""What is known of each labeler: reliability, agreement with the others, change over time."""
