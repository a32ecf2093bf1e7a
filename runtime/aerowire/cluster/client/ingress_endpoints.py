"""Ingress endpoints of a cluster's members as text: `id=host:port,...`. Aeron: AeronCluster.parseIngressEndpoints."""

from __future__ import annotations

import re

from aerowire.base.errors import ConfigurationError

# More members than any cluster has: a longer text is not a list of members.
MEMBERS_MAX = 64
# An endpoint becomes part of a channel, so it must not contain a character that begins another parameter.
_MEMBER = re.compile(r" *([0-9]{1,10})=([^\x00-\x20\x7f-\U0010ffff|?=]+) *")


def parse_ingress_endpoints(text: str) -> dict[int, str]:
    """Return member id -> endpoint, in the order of the text. Raises ConfigurationError for a text of another form."""
    found: dict[int, str] = {}
    for part in text.split(","):
        match = _MEMBER.fullmatch(part)
        if match is None:
            raise _malformed(text, repr(part))
        found[int(match[1])] = match[2]
        if len(found) > MEMBERS_MAX:
            raise _malformed(text[:64] + "...", f"more than {MEMBERS_MAX} members")
    return found


def _malformed(text: str, actual: str) -> ConfigurationError:
    return ConfigurationError("ingress endpoints are malformed", where=repr(text), expected="member-id=host:port,...", actual=actual)
