"""Mapped memory and the atomic operations on it.  Knows files and pages, nothing of what is laid out in them."""
