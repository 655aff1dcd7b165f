"""One file a method, and the registry that names them."""
