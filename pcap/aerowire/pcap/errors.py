"""What can be wrong with a capture as a whole.  Bytes inside it are never an error: they are counted as skipped."""

from __future__ import annotations


class CaptureError(ValueError):
    """A capture cannot be read: the message says which file, what was expected, what was found and what may help."""
