"""The official driver bears the same replays of its C sibling's captures as ours: it is the oracle of the replay itself."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from aerowire.conformance.peers.base import PeerError
from aerowire.conformance.peers.drivers import JavaPeer, short_timers
from tests.interop.harness import AERON_ALL, find_jar
from tests.soak.replay import run_on, small_plays

pytestmark = [pytest.mark.interop, pytest.mark.timeout(300)]


def test_official_driver_delivers_and_sends_every_golden_capture(tmp_path: Path) -> None:
    if shutil.which("java") is None:
        pytest.skip("no java command")
    find_jar(AERON_ALL)  # fetched where Maven is
    try:
        peer = JavaPeer(short_timers(), None, tmp_path / "driver")
    except PeerError as error:
        pytest.skip(str(error))
    print(run_on(peer, list(small_plays())))
