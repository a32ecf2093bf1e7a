"""What an abstract member needs of the world around it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

from aerowire.cluster.consensus.effects import Effect
from aerowire.cluster.consensus.messages import Message

if TYPE_CHECKING:
    from tests.cluster.consensus.abstract_member import AbstractMember


class Surroundings(Protocol):
    """Time, network, other members, and whoever looks on."""

    now_ns: int

    def send(self, sender_id: int, receiver_id: int, message: Message) -> None:
        """Take a message."""

    def reach(self, member_id: int, other_id: int) -> AbstractMember | None:
        """Return another member that runs and can be reached."""

    def next_session_id(self) -> int:
        """Return a session id that no log had."""

    def effect(self, member: AbstractMember, effect: Effect) -> None:
        """See an effect before it is carried out."""

    def applied(self, member: AbstractMember, index: int) -> None:
        """See that services consume an entry."""

    def recorded(self, member: AbstractMember) -> None:
        """See that the log has an entry more."""

    def after(self, member: AbstractMember, effect: Effect, complete: Callable[[], None]) -> None:
        """Complete an effect now or later."""

    def chunk(self) -> int:
        """Return how many entries go on at once."""
