"""The members that a configuration lists."""

from __future__ import annotations

import pytest

from aerowire.base.errors import ConfigurationError
from aerowire.cluster.consensus.members import (
    ClusterMember,
    encode_members,
    highest_member_id,
    ingress_endpoints,
    parse_endpoints,
    parse_members,
)

FIRST = "0,a:1,a:2,a:3,a:4,a:5"
SECOND = "7,b:1,b:2,b:3,b:4,b:5,b:6,b:7"


def test_members_have_their_endpoints() -> None:
    first, second = parse_members(f"{FIRST}|{SECOND}")
    assert first == ClusterMember(0, "a:1", "a:2", "a:3", "a:4", "a:5")
    assert second == ClusterMember(7, "b:1", "b:2", "b:3", "b:4", "b:5", "b:6", "b:7")
    assert first.archive_response_endpoint is None


@pytest.mark.parametrize("text", ["", FIRST, f"{FIRST}|{SECOND}", "1,a,b,c,d,e,f"])
def test_members_are_written_as_they_are_read(text: str) -> None:
    assert encode_members(parse_members(text)) == text


def test_empty_texts_at_the_end_are_left_out_as_java_does() -> None:
    assert encode_members(parse_members(f"{FIRST},,|")) == FIRST


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (
            "0,a:1,a:2",
            "invalid cluster member; at member 0: '0,a:1,a:2'; expected 6 to 8 attributes: "
            "id,ingress,consensus,log,catchup,archive[,archiveResponse[,egressResponse]]; got 3 attributes",
        ),
        (
            f"{FIRST}|1,a,b,c,d,e,f,g,h",
            "invalid cluster member; at member 1: '1,a,b,c,d,e,f,g,h'; expected 6 to 8 attributes: "
            "id,ingress,consensus,log,catchup,archive[,archiveResponse[,egressResponse]]; got 9 attributes",
        ),
        (
            "x,a,b,c,d,e",
            "invalid cluster member id; at member 0: 'x,a,b,c,d,e'; expected an integer of 32 bits; got 'x'",
        ),
        (
            "2147483648,a,b,c,d,e",
            "invalid cluster member id; at member 0: '2147483648,a,b,c,d,e'; expected an integer of 32 bits; got '2147483648'",
        ),
        (
            f"{FIRST}|{FIRST}",
            f"duplicate cluster member id; at member 1 of '{FIRST}|{FIRST}'; expected an id of its own; got 0",
        ),
    ],
)
def test_a_wrong_member_is_told(text: str, told: str) -> None:
    with pytest.raises(ConfigurationError) as raised:
        parse_members(text)
    assert str(raised.value) == told


def test_endpoints_of_one_member_are_five() -> None:
    assert parse_endpoints(3, "a,b,c,d,e") == ClusterMember(3, "a", "b", "c", "d", "e")
    with pytest.raises(ConfigurationError, match="expected 5 endpoints"):
        parse_endpoints(3, "a,b,c,d")


def test_clients_are_given_ids_and_ingress_endpoints() -> None:
    members = parse_members(f"{FIRST}|{SECOND}")
    assert ingress_endpoints(members) == "0=a:1,7=b:1"
    assert highest_member_id(members) == 7
    assert highest_member_id(()) == -1


def test_response_endpoints_do_not_tell_members_apart() -> None:
    one, other = parse_members("1,a,b,c,d,e,f|2,a,b,c,d,e")
    assert one.has_same_endpoints(other)
    assert one.endpoints == "a,b,c,d,e,f"
