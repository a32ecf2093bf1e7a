"""Publications to the ingress of a cluster's members, opened without waiting. Aeron: AeronCluster.MemberIngress."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

from aerowire.base.errors import AerowireError, ChannelError, RegistrationError
from aerowire.codecs.tables.errors import ErrorCode

if TYPE_CHECKING:
    from aerowire.client.aeron import Aeron
    from aerowire.client.handles.waiting import Pending
    from aerowire.client.publications.publication import ExclusivePublication, Publication
    from aerowire.cluster.client.context import ConcludedClusterContext

    IngressPublication: TypeAlias = Publication | ExclusivePublication

# Temporary refusals of a driver: the request is repeated.
_TEMPORARY = (ErrorCode.RESOURCE_TEMPORARILY_UNAVAILABLE, ErrorCode.UNKNOWN_HOST)
# Stands for the member behind a channel without endpoints, whose id is not known.
ANY_MEMBER = -1


class MemberIngress:
    """The publication to one member. Changed by `poll`, which repeats the request after a temporary refusal of the driver.

    `error` is the last error in opening it; `is_refused` says that the refusal is final. After `take` or `close` it holds nothing.
    """

    def __init__(self, start: Callable[[], Pending[Any]], endpoint: str | None) -> None:
        self.endpoint = endpoint
        self.error: AerowireError | None = None
        self.is_refused = False
        self._start = start
        self._pending: Pending[Any] | None = None
        self._publication: IngressPublication | None = None

    def poll(self) -> IngressPublication | None:
        """Go on opening the publication, and return it once the member listens."""
        if self._publication is None and not self.is_refused:
            self._open()
        publication = self._publication
        return publication if publication is not None and publication.is_connected else None

    def take(self) -> IngressPublication:
        """Return the publication, which belongs to the caller now."""
        publication, self._publication = self._publication, None
        assert publication is not None
        return publication

    def close(self) -> None:
        """Close the publication, or give up opening it."""
        if self._pending is not None:
            self._pending.abandon()
        if self._publication is not None:
            self._publication.close()
        self._pending = self._publication = None

    def _open(self) -> None:
        try:
            if self._pending is None:
                self._pending = self._start()
            if self._pending.poll():
                pending, self._pending = self._pending, None
                self._publication = pending.result()
        except (ChannelError, RegistrationError) as error:
            self.error = error
            self.is_refused = error.error_code not in _TEMPORARY


class IngressMembers:
    """The members that a client tries, in order: the first that listens is taken. Belongs to one thread."""

    def __init__(self, context: ConcludedClusterContext, aeron: Aeron, egress_registration_id: int) -> None:
        self._context = context
        self._aeron = aeron
        self._egress_registration_id = egress_registration_id
        self._members: dict[int, MemberIngress] = {}

    def replace(self, endpoints: Mapping[int, str]) -> None:
        """Try these members from now on; publications to endpoints that are in both lists are kept."""
        before: dict[str | None, MemberIngress] = {member.endpoint: member for member in self._members.values()}
        self._members = {
            member_id: before.pop(endpoint) if endpoint in before else self._new(endpoint) for member_id, endpoint in endpoints.items()
        }
        for member in before.values():
            member.close()

    def replace_by_channel(self) -> None:
        """Try the channel itself, without an endpoint of a member."""
        self.close()
        self._members = {ANY_MEMBER: self._new(None)}

    def poll(self) -> tuple[int, IngressPublication] | None:
        """Go on opening, and return the first member that listens, with its publication, which stays here until it is taken."""
        for member_id, member in self._members.items():
            publication = member.poll()
            if publication is not None:
                return member_id, publication
        return None

    def take(self, member_id: int) -> IngressPublication:
        """Return the publication to a member, which belongs to the caller now, and close the others."""
        publication = self._members.pop(member_id).take()
        self.close()
        return publication

    @property
    def errors(self) -> list[AerowireError]:
        """The last errors in opening publications, in the order of the members."""
        return [member.error for member in self._members.values() if member.error is not None]

    @property
    def are_refused(self) -> bool:
        """Whether the driver has refused every one for good."""
        return all(member.is_refused for member in self._members.values())

    def close(self) -> None:
        """Close what is open."""
        for member in self._members.values():
            member.close()
        self._members = {}

    def _new(self, endpoint: str | None) -> MemberIngress:
        context, aeron = self._context, self._aeron
        channel = context.ingress_publication_channel(endpoint, self._egress_registration_id)
        add = aeron.async_add_exclusive_publication if context.is_ingress_exclusive else aeron.async_add_publication
        return MemberIngress(lambda: add(channel, context.ingress_stream_id), endpoint)
