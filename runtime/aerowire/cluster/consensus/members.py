"""The members of a cluster as its configuration lists them. Aeron: ClusterMember.

    id,ingress,consensus,log,catchup,archive[,archiveResponse[,egressResponse]]|...

`member_states` keeps the log and the votes that a member has reported.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from aerowire.base.errors import ConfigurationError

INT32_MIN = -(2**31)
INT32_MAX = 2**31 - 1
_INTEGER = re.compile(r"[+-]?[0-9]+", re.ASCII)
_ENDPOINTS_MIN = 5
_ENDPOINTS_MAX = 7
_FORM = "id,ingress,consensus,log,catchup,archive[,archiveResponse[,egressResponse]]"


@dataclass(frozen=True, slots=True)
class ClusterMember:
    """One member and its endpoints."""

    member_id: int
    ingress_endpoint: str
    consensus_endpoint: str
    log_endpoint: str
    catchup_endpoint: str
    archive_endpoint: str
    archive_response_endpoint: str | None = None
    egress_response_endpoint: str | None = None

    @property
    def endpoints(self) -> str:
        """The endpoints as the configuration writes them, without the id."""
        optional = (self.archive_response_endpoint, self.egress_response_endpoint)
        return ",".join((*self._required, *(endpoint for endpoint in optional if endpoint is not None)))

    def has_same_endpoints(self, other: ClusterMember) -> bool:
        """Whether the five endpoints that every member has are the same. Aeron: ClusterMember.areSameEndpoints."""
        return self._required == other._required

    @property
    def _required(self) -> tuple[str, ...]:
        return (self.ingress_endpoint, self.consensus_endpoint, self.log_endpoint, self.catchup_endpoint, self.archive_endpoint)


def parse_members(value: str) -> tuple[ClusterMember, ...]:
    """Return the members that `value` lists, in its order; none of an empty text. Raises ConfigurationError.

    Stricter than ClusterMember.parse in one thing: two members cannot share an id, because each would count for the other's quorum.
    """
    if not value:
        return ()
    # As Java's String.split: empty texts at the end are left out.
    parts = value.rstrip("|").split("|")
    members: dict[int, ClusterMember] = {}
    for index, part in enumerate(parts):
        member = _parse_member(part, index)
        if member.member_id in members:
            raise ConfigurationError(
                "duplicate cluster member id", where=f"member {index} of {value!r}", expected="an id of its own", actual=member.member_id
            )
        members[member.member_id] = member
    return tuple(members.values())


def parse_endpoints(member_id: int, value: str) -> ClusterMember:
    """Return the member whose five endpoints `value` lists. Raises ConfigurationError. Aeron: ClusterMember.parseEndpoints."""
    endpoints = value.rstrip(",").split(",")
    if len(endpoints) != _ENDPOINTS_MIN:
        raise ConfigurationError(
            "invalid member endpoints",
            where=repr(value),
            expected="5 endpoints: ingress,consensus,log,catchup,archive",
            actual=len(endpoints),
        )
    return ClusterMember(member_id, *endpoints)


def encode_members(members: Iterable[ClusterMember]) -> str:
    """Return members as `parse_members` reads them. Aeron: ClusterMember.encodeAsString."""
    return "|".join(f"{member.member_id},{member.endpoints}" for member in members)


def ingress_endpoints(members: Iterable[ClusterMember]) -> str:
    """Return `id=endpoint,...`, which clients are given. Aeron: ClusterMember.ingressEndpoints."""
    return ",".join(f"{member.member_id}={member.ingress_endpoint}" for member in members)


def highest_member_id(members: Iterable[ClusterMember]) -> int:
    """Return the highest id among members; -1 of none."""
    return max((member.member_id for member in members), default=-1)


def _parse_member(part: str, index: int) -> ClusterMember:
    where = f"member {index}: {part!r}"
    attributes = part.rstrip(",").split(",")
    if not _ENDPOINTS_MIN < len(attributes) <= 1 + _ENDPOINTS_MAX:
        raise ConfigurationError(
            "invalid cluster member", where=where, expected=f"6 to 8 attributes: {_FORM}", actual=f"{len(attributes)} attributes"
        )
    text, *endpoints = attributes
    member_id = int(text) if _INTEGER.fullmatch(text) else None
    if member_id is None or not INT32_MIN <= member_id <= INT32_MAX:
        raise ConfigurationError("invalid cluster member id", where=where, expected="an integer of 32 bits", actual=repr(text))
    return ClusterMember(member_id, *endpoints)
