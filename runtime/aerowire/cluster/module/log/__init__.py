"""The log of a consensus module: published, recorded, followed, replayed, replicated. The meaning of its events is not known here."""
