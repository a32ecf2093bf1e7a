"""The states of a leader that actions in the log stand for, as long as these are not committed. Sans I/O.

Once the log is left, what was not committed has not happened. Aeron: ConsensusModuleAgent.restoreUncommittedEntries.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from aerowire.codecs.flyweights.cnc import ConsensusModuleState


class UncommittedStates:
    """The states that appended actions have ended, by the positions behind the actions, ascending. Changed by all methods."""

    def __init__(self) -> None:
        """Start with nothing."""
        self._states: deque[tuple[int, ConsensusModuleState]] = deque()

    def add(self, position: int, previous: ConsensusModuleState) -> None:
        """Note the state that an appended action has ended."""
        self._states.append((position, previous))

    def sweep(self, commit_position: int) -> None:
        """Forget what is committed."""
        while self._states and self._states[0][0] <= commit_position:
            self._states.popleft()

    def restore(self, commit_position: int) -> ConsensusModuleState | None:
        """Forget all; return the state that has not ended, None for the present one."""
        self.sweep(commit_position)
        state = self._states[0][1] if self._states else None
        self._states.clear()
        return state
