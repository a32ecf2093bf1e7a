"""A log's file as raw_poll hands it out: open for reading, closed with its last reference."""

from __future__ import annotations

import io


class LogFile(io.FileIO):
    """A file that nobody has to close: several handlers may hold it, and none of them knows who is the last."""

    def __del__(self) -> None:
        self.close()
