"""States of services as JSON: what goes in comes out, equal states are equal bytes, and nothing else is made of what is read."""

from __future__ import annotations

import enum
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aerowire.base.errors import ClusterSnapshotError
from aerowire.cluster.snapshots.state_codec import StateCodec


class Side(enum.Enum):
    BUY = 1
    SELL = 2


@dataclass
class Account:
    owner: str
    balance: int = 0
    sides: list[Side] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Point:
    x: float


CODEC = StateCodec((Account, Side, Point))


def test_the_form_is_json() -> None:
    state = {"accounts": {1: Account("x", 2, [Side.SELL])}, "name": "é", "raw": b"\x00\x01", "pair": (1, None), "ids": {3, 1, 20}}
    assert CODEC.encode(state).decode() == (
        '{"accounts":{"$dict":[[1,{"$Account":{"owner":"x","balance":2,"sides":[{"$Side":"SELL"}]}}]]},"name":"é",'
        '"raw":{"$bytes":"AAE="},"pair":{"$tuple":[1,null]},"ids":{"$set":[1,20,3]}}'
    )
    assert CODEC.decode(CODEC.encode(state)) == state


SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text() | st.binary()
HASHABLE = st.recursive(SCALARS, lambda inner: st.tuples(inner, inner) | st.frozensets(inner, max_size=3), max_leaves=5)
STATES = st.recursive(
    SCALARS | st.sampled_from(Side) | st.builds(Point, st.floats(allow_nan=False, allow_infinity=False)),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(HASHABLE, inner, max_size=4)
        | st.sets(HASHABLE, max_size=4)
        | st.builds(Account, st.text(), st.integers(), st.lists(st.sampled_from(Side), max_size=2))
    ),
    max_leaves=20,
)


@given(STATES)
def test_a_state_comes_back_as_it_was(state: Any) -> None:
    data = CODEC.encode(state)
    again = CODEC.decode(data)
    assert again == state
    assert type(again) is type(state)
    assert CODEC.encode(again) == data


@pytest.mark.parametrize(
    ("state", "problem"),
    [
        (object(), r"a state holds what is not allowed.*plain values, or one of Account, Side, Point.*an? object"),
        (float("nan"), "no form for"),
        ([bytearray(b"x")], "a bytearray"),
        (type("Account", (), {})(), "an? Account"),
    ],
)
def test_what_a_state_cannot_hold_is_refused(state: object, problem: str) -> None:
    with pytest.raises(ClusterSnapshotError, match=problem):
        CODEC.encode(state)


def test_a_state_that_holds_itself_is_refused() -> None:
    state: list[Any] = []
    state.append(state)
    with pytest.raises(ClusterSnapshotError, match="a cycle"):
        CODEC.encode(state)


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"{", "a state is damaged"),
        (b"\xff", "a state is damaged"),
        (b"NaN", "no number of JSON"),
        (b'{"$Popen":{}}', r"names a class that is not allowed.*Account, Side, Point.*Popen"),
        (b'{"$Account":{"owner":"x"}}', r"has other fields.*balance, owner, sides.*owner"),
        (b'{"$Side":"HOLD"}', "the content of .Side"),
        (b'{"$bytes":"?"}', "the content of .bytes"),
        (b'{"$bytes":1}', "the content of .bytes"),
        (b'{"$dict":[[[1],2]]}', "the content of .dict"),
        (b'{"$tuple":[1],"x":2}', "nothing beside"),
        (b"[" * 100_000, "a state is damaged"),
    ],
)
def test_what_is_no_state_is_refused(data: bytes, problem: str) -> None:
    with pytest.raises(ClusterSnapshotError, match=problem):
        CODEC.decode(data)


@pytest.mark.parametrize("types", [(int,), (Account, type("Account", (Point,), {})), (enum.Enum("bytes", "A"),)])
def test_classes_of_a_state_are_data_classes_and_enumerations_with_names_of_their_own(types: tuple[type, ...]) -> None:
    with pytest.raises(ClusterSnapshotError):
        StateCodec(types)
