"""Acknowledgements of services, in rounds."""

from __future__ import annotations

import pytest

from aerowire.base.errors import ConsensusModuleError
from aerowire.cluster.module.node_services.service_acks import Ack, ServiceAcks


def test_a_round_is_complete_once_each_service_has_its_acknowledgement() -> None:
    acks = ServiceAcks(2)
    acks.add(1, Ack(0, 64, 7))
    assert not acks.is_round_complete
    acks.add(0, Ack(0, 64, 6))
    assert acks.is_round_complete
    assert [ack.relevant_id for ack in acks.take_round()] == [6, 7]
    assert acks.ack_id == 1


def test_logs_are_joined_in_the_order_in_which_services_were_told() -> None:
    acks = ServiceAcks(1)
    acks.expect_join(0)
    acks.expect_join(96)
    acks.add(0, Ack(0, 0, -1))
    acks.settle()
    assert not acks.is_settled
    acks.add(0, Ack(1, 96, -1))
    acks.settle()
    assert acks.is_settled


def test_a_log_joined_elsewhere_is_an_error() -> None:
    acks = ServiceAcks(1)
    acks.expect_join(96)
    acks.add(0, Ack(0, 128, -1))
    with pytest.raises(ConsensusModuleError, match="out of sequence"):
        acks.settle()


def test_a_second_service_of_one_id_is_refused() -> None:
    acks = ServiceAcks(1)
    acks.add(0, Ack(0, 0, 1))
    acks.take_round()
    with pytest.raises(ConsensusModuleError, match="possible duplicate"):
        acks.add(0, Ack(0, 0, 2))


@pytest.mark.parametrize(("service_id", "ack_id"), [(1, 0), (-1, 0), (0, 2)])
def test_an_acknowledgement_out_of_order_is_refused(service_id: int, ack_id: int) -> None:
    with pytest.raises(ConsensusModuleError):
        ServiceAcks(1).add(service_id, Ack(ack_id, 0, 1))


def test_without_services_every_log_is_joined() -> None:
    acks = ServiceAcks(0)
    acks.expect_join(0)
    assert acks.is_settled
    assert acks.is_round_complete


def test_a_snapshot_of_the_log_that_ended_comes_before_the_next_log_joined() -> None:
    acks = ServiceAcks(1)
    acks.expect_snapshot(96)
    acks.expect_join(128)
    acks.add(0, Ack(0, 96, 7))
    acks.settle()
    assert acks.is_snapshot_next
    assert not acks.is_settled
    acks.add(0, Ack(1, 128, -1))
    assert acks.take_snapshot_round() == (Ack(0, 96, 7),)
    assert acks.is_settled
    assert not acks.is_round_complete


@pytest.mark.parametrize("joined_at", [96, 128])
def test_a_snapshot_that_services_did_not_read_of_is_no_longer_asked_for_once_they_have_joined_the_next_log(joined_at: int) -> None:
    acks = ServiceAcks(1)
    acks.expect_snapshot(96)
    acks.expect_join(joined_at)
    acks.add(0, Ack(0, joined_at, -1))
    acks.settle()
    assert acks.is_settled
    assert not acks.is_snapshot_expected


def test_a_snapshot_that_failed_is_still_its_round() -> None:
    acks = ServiceAcks(1)
    acks.expect_snapshot(96)
    acks.add(0, Ack(0, 96, -1))
    acks.settle()
    assert acks.is_snapshot_next
