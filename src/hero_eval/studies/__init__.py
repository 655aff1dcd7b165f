"""Simulation designs, the paper's experiments, and twins of its case studies."""
