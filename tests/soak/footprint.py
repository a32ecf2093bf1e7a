"""What aerowire costs when nothing happens: an idle driver's processor time and memory, and the client's import time."""

from __future__ import annotations

import os
import re
import statistics
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

from aerowire.codecs.tables.options import OPTIONS
from tests.soak.bars import Part, Size
from tests.support.processes import open_workshop, wait_for_driver

IDLE_S = {Size.FULL: 20.0, Size.SMALL: 1.0}
# A small run shares its machine with other work, which makes each wake-up dearer: the quietest of a few windows counts.
WINDOWS = {Size.FULL: 1, Size.SMALL: 4}
CORE_SHARE = 0.05
# Other work's pressure on caches costs processor time too.
IMPORT_S = {Size.FULL: 0.150, Size.SMALL: 0.300}
RESIDENT_BYTES = 80 << 20
IMPORT_RUNS = 5
TICKS_PER_S = os.sysconf("SC_CLK_TCK")


def processor_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS_PER_S


def core_share(pid: int, seconds: float) -> float:
    """Return how much of a core a process takes in the next seconds."""
    before, started = processor_seconds(pid), time.monotonic()
    time.sleep(seconds)
    return (processor_seconds(pid) - before) / (time.monotonic() - started)


def anonymous_bytes(pid: int) -> int:
    """Return the resident memory that is not a mapped file or shared memory: everything beside the mapped buffers."""
    found = re.search(r"^RssAnon:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text(), re.MULTILINE)
    assert found is not None
    return int(found.group(1)) << 10


def idle_driver(size: Size, scratch: Path) -> str:
    with open_workshop(scratch) as workshop:
        directory = workshop.memory / "idle"
        driver = workshop.driver(directory, {OPTIONS["threading_mode"].property: "DEDICATED"})
        wait_for_driver(directory, driver)
        time.sleep(1.0)
        share = min(core_share(driver.popen.pid, IDLE_S[size]) for _ in range(WINDOWS[size]))
        resident = anonymous_bytes(driver.popen.pid)
    said = f"{share:.1%} of a core, {resident >> 20} MiB resident"
    assert share < CORE_SHARE, said
    assert resident < RESIDENT_BYTES, said
    return said


def client_import(size: Size, scratch: Path) -> str:
    """At small size the processor's time counts, not the wall's. Modules are compiled before, as after an installation."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    environment["PYTHONPYCACHEPREFIX"] = str(scratch / "bytecode")
    clock = "perf_counter" if size is Size.FULL else "process_time"
    code = f"from time import {clock} as now; t = now(); import aerowire.client; print(now() - t)"
    _, *times = (float(subprocess.check_output([sys.executable, "-c", code], env=environment)) for _ in range(1 + IMPORT_RUNS))
    said = f"import of aerowire.client {statistics.median(times) * 1e3:.0f} ms"
    assert statistics.median(times) < IMPORT_S[size], said
    return said


def parts(size: Size) -> list[Part]:
    return [Part("idle-driver", 0, partial(idle_driver, size)), Part("client-import", 0, partial(client_import, size))]
