"""The catalogue: one module a group, one function a case."""
