"""One file a question: rate, difference, win_rate, moderation; and every method side by side."""
