"""A driver, a publisher and a subscriber in processes of their own: what the bars do something to."""

from __future__ import annotations

from pathlib import Path

from tests.support.processes import Process, Workshop, free_port, wait_for_driver

START_S = 20.0
STREAM = 1001


def channel_of(media: str) -> str:
    """Return a channel for "ipc" or "udp" that nobody else uses."""
    return "aeron:ipc?term-length=64k" if media == "ipc" else f"aeron:udp?endpoint=127.0.0.1:{free_port()}|term-length=64k"


class Scene:
    """A driver with the given options, and two watchers on it whose client has the given options (JSON)."""

    def __init__(self, workshop: Workshop, channel: str, driver_options: dict[str, str], client_options: str) -> None:
        self.workshop = workshop
        self.channel = channel
        self.driver_options = driver_options
        self.client_options = client_options
        self.directory: Path = workshop.memory / "driver"
        self.start_driver()
        self.start_peers()

    def start_driver(self) -> None:
        self.driver = self.workshop.driver(self.directory, self.driver_options)
        wait_for_driver(self.directory, self.driver)

    def start_peers(self) -> None:
        self.peers = {role: self.watcher(role) for role in ("subscriber", "publisher")}
        self.expect_flow()

    def watcher(self, role: str) -> Process:
        watcher = self.workshop.peer("watcher", self.directory, role=role, channel=self.channel, stream=STREAM, options=self.client_options)
        watcher.event("ready", START_S)
        return watcher

    def expect_flow(self) -> None:
        """Assert that messages pass now: a further thousand is sent and a further thousand arrives."""
        for peer in self.peers.values():
            assert peer.event("messages", START_S).get("wrong", 0) == 0

    def end(self) -> None:
        """End everything in order and see that nothing is left behind."""
        for peer in reversed(self.peers.values()):
            assert peer.finish() == 0, peer.said()
        self.driver.popen.terminate()
        assert self.driver.popen.wait(START_S) == 0, self.driver.said()
        assert not self.directory.exists()
