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
from aerowire.system.hiccups import HiccupSampler
from tests.soak.bars import Part, Size
from tests.support.processes import open_workshop, wait_for_driver

IDLE_S = {Size.FULL: 20.0, Size.SMALL: 1.0}
# A backing-off agent that has nothing to do looks once a millisecond. What a look costs is the machine's affair: 15 to 40 us of a virtual
# one's processor for the sleep alone. So the bar is 5 % of a core, or what three threads that do nothing but sleep take beside the driver,
# and a half; at small size, where other work runs as well, how often the agents wake up, which no machine changes.
CORE_SHARE = 0.05
SLEEPERS_SHARE = 1.5
SWITCHES_PER_S = 3 * 1100 + 200
SPINNING_SHARE = 0.5
# Other work's pressure on caches costs processor time too, and a slow moment doubles it.
IMPORT_S = {Size.FULL: 0.150, Size.SMALL: 0.600}
RESIDENT_BYTES = 80 << 20
IMPORT_RUNS = 5
TICKS_PER_S = os.sysconf("SC_CLK_TCK")


def processor_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS_PER_S


def anonymous_bytes(pid: int) -> int:
    """Return the resident memory that is not a mapped file or shared memory: everything beside the mapped buffers."""
    found = re.search(r"^RssAnon:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text(), re.MULTILINE)
    assert found is not None
    return int(found.group(1)) << 10


def voluntary_switches(pid: int) -> int:
    """Return how often the threads of a process have gone to sleep."""
    text = "".join(path.read_text() for path in Path(f"/proc/{pid}/task").glob("*/status"))
    return sum(map(int, re.findall(r"^voluntary_ctxt_switches:\s+(\d+)", text, re.MULTILINE)))


def sleeping_share(seconds: float) -> float:
    """Return how much of a core this thread takes when it sleeps for a millisecond again and again."""
    before, started = time.thread_time(), time.monotonic()
    HiccupSampler().sleep(int(seconds * 1e9))
    return (time.thread_time() - before) / (time.monotonic() - started)


def idle_driver(size: Size, scratch: Path) -> str:
    with open_workshop(scratch) as workshop:
        directory = workshop.memory / "idle"
        driver = workshop.driver(directory, {OPTIONS["threading_mode"].property: "DEDICATED"})
        wait_for_driver(directory, driver)
        time.sleep(1.0)
        before, switched, started = processor_seconds(driver.popen.pid), voluntary_switches(driver.popen.pid), time.monotonic()
        sleeper = sleeping_share(IDLE_S[size])
        elapsed = time.monotonic() - started
        share = (processor_seconds(driver.popen.pid) - before) / elapsed
        switches = (voluntary_switches(driver.popen.pid) - switched) / elapsed
        resident = anonymous_bytes(driver.popen.pid)
    said = f"{share:.1%} of a core (a thread that sleeps {sleeper:.1%}), {switches:.0f} sleeps a second, {resident >> 20} MiB resident"
    assert switches < SWITCHES_PER_S, said
    assert share < (SPINNING_SHARE if size is Size.SMALL else max(CORE_SHARE, 3 * SLEEPERS_SHARE * sleeper)), said
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
