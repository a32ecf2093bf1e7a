"""Recorded messages and the times at which they are due again; sending them is the business of `publishing` and of its callers."""
