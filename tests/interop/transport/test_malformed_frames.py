"""Our client behind an official driver, which lets frames pass that are shorter than their header."""

from __future__ import annotations

import socket

import pytest

from aerowire.base.errors import MalformedFrameError
from aerowire.client import Aeron, Image, wait_for
from aerowire.codecs.flyweights import transport
from tests.interop.harness import Bench
from tests.support.processes import free_port

pytestmark = [pytest.mark.interop, pytest.mark.timeout(300)]

LIMIT_NS = 60_000_000_000
STREAM, SESSION, TERM_ID = 1001, 77, 5


@pytest.mark.parametrize("length", [1, 31])
def test_a_short_frame_ends_its_image_and_no_other(bench: Bench, length: int) -> None:
    driver = bench.driver("official")
    errors: list[BaseException] = []
    gone: list[Image] = []
    channel = f"aeron:udp?endpoint=127.0.0.1:{free_port()}"
    port = free_port()
    with (
        Aeron.connect(driver.directory, error_handler=errors.append, driver_timeout_ns=LIMIT_NS) as aeron,
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as source,
    ):
        attacked = aeron.add_subscription(f"aeron:udp?endpoint=127.0.0.1:{port}", STREAM, unavailable_image_handler=gone.append)
        bystander = aeron.add_subscription(channel, STREAM)
        publication = aeron.add_publication(channel, STREAM)
        setup = transport.SetupEncoder.encode(
            session_id=SESSION, stream_id=STREAM, initial_term_id=TERM_ID, active_term_id=TERM_ID, term_length=65536, mtu=1408
        )
        data = transport.DataHeaderEncoder.encode(
            frame_length=length, flags=0xC0, type=transport.FrameType.DATA, session_id=SESSION, stream_id=STREAM, term_id=TERM_ID
        )

        def is_over() -> bool:
            source.sendto(setup if not attacked.is_connected else bytes(data[:32]), ("127.0.0.1", port))
            assert attacked.poll(lambda *_: None) == 0
            return bool(gone and errors)

        assert wait_for(is_over, LIMIT_NS, sleep_max_s=0.01)
        assert isinstance(errors[0], MalformedFrameError)
        assert (errors[0].session_id, errors[0].position, errors[0].frame_length) == (SESSION, 0, length)
        publication.send(b"whole", timeout_ns=LIMIT_NS)
        got: list[bytes] = []

        def is_delivered() -> bool:
            bystander.poll(lambda _buffer, _offset, _length, header: got.append(header.payload()))
            return bool(got)

        assert wait_for(is_delivered, LIMIT_NS)
        assert got == [b"whole"]
