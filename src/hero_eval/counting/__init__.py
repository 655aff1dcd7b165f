"""Where counting runs."""
