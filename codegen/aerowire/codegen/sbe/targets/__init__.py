"""Targets for message schemas: each turns the tree of a schema into texts."""
