"""The log as a consensus module has it: published, recorded, followed, replayed, replicated. What it means is said elsewhere."""
