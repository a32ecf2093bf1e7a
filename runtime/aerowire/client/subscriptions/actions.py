"""What a controlled fragment handler answers. Aeron: ControlledFragmentHandler.Action."""

from __future__ import annotations

import enum


class Action(enum.Enum):
    """How a controlled poll goes on after a fragment."""

    ABORT = enum.auto()
    """End the poll; the fragment comes again with the next one."""
    BREAK = enum.auto()
    """End the poll; the fragment counts as read."""
    COMMIT = enum.auto()
    """Move the subscriber's position past the fragment now, and go on: the publisher may have the space at once."""
    CONTINUE = enum.auto()
    """Go on; the position moves at the end of the poll."""
