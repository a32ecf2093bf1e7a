"""Passes over a whole capture: from its file to its frames, what only the whole file tells, and the index that keeps it; no columns."""
