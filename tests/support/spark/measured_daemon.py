"""Spark's daemon of Python workers, with workers that write down their largest resident set: `spark.python.daemon.module`.

After each task a worker writes VmHWM, in bytes, to a file of its own in the folder AW_PEAKS.
"""

from __future__ import annotations

import os
import socket
from pathlib import Path

from pyspark import daemon

from tests.support.proc import peak_resident_of

FOLDER = "AW_PEAKS"
_plain_worker = daemon.worker


def measured_worker(sock: socket.socket, authenticated: bool) -> int:
    """Do what a worker does, and write down what it took."""
    try:
        return _plain_worker(sock, authenticated)
    finally:
        if FOLDER in os.environ:
            whole = Path(os.environ[FOLDER]) / f"{os.getpid()}.peak"
            partial = whole.with_suffix(".tmp")  # Spark may kill the worker at any time
            partial.write_text(str(peak_resident_of(os.getpid())))
            partial.replace(whole)


if __name__ == "__main__":
    daemon.worker = measured_worker
    daemon.manager()
