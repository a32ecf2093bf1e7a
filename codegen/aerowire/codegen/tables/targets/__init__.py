"""Targets for tables: each turns rows into texts and never sees XML."""
