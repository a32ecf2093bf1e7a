"""The driver's directory: whose it is, what is in it, and what becomes of that."""
