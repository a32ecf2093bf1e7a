"""The ints of hot loops are used again, but only those that nobody else holds: a position or offset that somebody keeps never changes."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest

from aerowire.client import Aeron, wait_for
from aerowire.client.publications.publication import ADMIN_ACTION, BACK_PRESSURED

if TYPE_CHECKING:
    from aerowire.driver.media_driver import MediaDriver

TERM_LENGTH = 65536
LIMIT_NS = 10_000_000_000
MESSAGES = 4000


@pytest.mark.parametrize(
    ("kind", "start"),
    [
        ("add_publication", 0),
        ("add_exclusive_publication", 0),
        ("add_exclusive_publication", (1 << 30) - TERM_LENGTH),
        ("add_exclusive_publication", (1 << 46) - TERM_LENGTH),
    ],
)
def test_kept_positions_and_offsets_stay_what_they_were(real_driver: MediaDriver, start: int, kind: str, seed: int) -> None:
    draw = random.Random(seed)
    channel = f"aeron:ipc?term-length={TERM_LENGTH}"
    if start:
        channel += f"|init-term-id=0|term-id={start // TERM_LENGTH}|term-offset=0"
    with Aeron.connect(real_driver.aeron_dir) as aeron:
        publication = getattr(aeron, kind)(channel, 77)
        subscription = aeron.add_subscription("aeron:ipc", 77)
        assert wait_for(lambda: publication.available_window > 0 and subscription.is_connected, LIMIT_NS)
        kept: list[tuple[int, str]] = []
        offsets: list[tuple[int, str]] = []

        def handler(_buffer: memoryview, offset: int, _length: int, header: object) -> None:
            if draw.random() < 0.3:
                offsets.append((offset, str(offset)))
            assert offset == header.term_offset + 32  # type: ignore[attr-defined]

        position, received = start, 0
        for _ in range(MESSAGES):
            while (result := publication.offer(b"0123456789")) < 0:
                assert result in {ADMIN_ACTION, BACK_PRESSURED}
                received += subscription.poll(handler, 1000)
            position += 64
            assert result == position
            if draw.random() < 0.3:
                kept.append((result, str(result)))
        while received < MESSAGES:
            received += subscription.poll(handler, 1000)
        assert all(str(number) == text for number, text in kept + offsets)
        assert len(kept) > MESSAGES // 5
        assert len(offsets) > MESSAGES // 5
