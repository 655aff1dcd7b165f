"""HERO-3's model: items on levels, labelers that may err together, rounds that may drift."""
