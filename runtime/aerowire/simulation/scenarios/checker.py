"""What a rule of worlds is: it looks at a world after every step, and at certain times."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from aerowire.simulation.scenarios.application import Application
    from aerowire.simulation.scenarios.run import Run
    from aerowire.simulation.scenarios.traffic import Subscriber


class Checker:
    """A rule. Methods raise ViolationError where it is broken; those that a rule has no use for look at nothing."""

    def on_step(self, run: Run) -> None:
        """Look at the world after a step."""

    def on_ended(self, run: Run, application: Application) -> None:
        """Look at an application that has ended while the world goes on, before another takes its place."""

    def on_end_of_stream(self, run: Run, subscriber: Subscriber, incarnation: int, number: int) -> None:
        """Look at an image that brings no more of a publisher: `number` is that of its last message which the subscriber has."""

    def on_image_gone(self, run: Run, subscriber: Subscriber, incarnation: int, number: int) -> None:
        """Look at an image that has gone, as `on_end_of_stream`."""

    def on_recovered(self, run: Run) -> None:
        """Look at the world when all faults have ended, and everything has had time to recover."""

    def on_parted(self, run: Run) -> None:
        """Look at the world when each stream has lost its publisher or all of its subscribers, in good order, and time has passed."""

    def on_end(self, run: Run) -> None:
        """Look at the world when all clients have ended, and their drivers have had time to notice."""
