"""An archive of the classes that official drivers and peers load, which spares each of some hundred virtual machines to parse them.

It is made once for a jar, a Java and our peers, of what a driver and two peers load that send over UDP. A machine that cannot use it loads
its classes as ever.
"""

from __future__ import annotations

import hashlib
import subprocess
import tempfile
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from tests.interop.harness import WORK, Bench, Java, locked_work
from tests.support.processes import LIMIT_S, free_port, open_workshop, wait_for_driver
from tests.support.spark_start import QUIET

MESSAGES = 100


def with_archive(java: Java) -> Java:
    """Return the same implementation, whose virtual machines use the archive; made if there is none."""
    executable = Path(java.executable).resolve()
    # Another version of Java has another time.
    facts = (java.classes.name, str(java.jar), str(executable), executable.stat().st_mtime_ns, java.flags)
    path = WORK / f"classes-{hashlib.sha256(repr(facts).encode()).hexdigest()[:16]}.jsa"
    with locked_work():
        if not path.exists():
            _make(java, path)
    return replace(java, flags=(*java.flags, f"-XX:SharedArchiveFile={path}", QUIET))


def _make(java: Java, path: Path) -> None:
    with tempfile.TemporaryDirectory(dir=WORK) as scratch:
        listed = Path(scratch) / "classes"
        listed.write_text("".join(dict.fromkeys(_loaded(java, Path(scratch)))))
        dumped = Path(scratch) / path.name
        flags = (*java.flags, "-Xshare:dump", f"-XX:SharedClassListFile={listed}", f"-XX:SharedArchiveFile={dumped}", QUIET)
        done = subprocess.run(replace(java, flags=flags).command("-version"), capture_output=True, check=False, stdin=subprocess.DEVNULL)
        assert done.returncode == 0, done.stdout + done.stderr
        dumped.rename(path)


def _loaded(java: Java, scratch: Path) -> Iterable[str]:
    """Yield the lines by which a driver, a subscriber and a publisher say what they have loaded."""

    def listing(name: str) -> Java:
        return replace(java, flags=(*java.flags, f"-XX:DumpLoadedClassList={scratch / name}"))

    with open_workshop(scratch) as workshop:
        driver = Bench(listing("driver"), workshop).driver("official")
        wait_for_driver(driver.directory, driver.process)
        common = {"channel": f"aeron:udp?endpoint=127.0.0.1:{free_port()}", "stream": 1, "messages": MESSAGES, "timeout": int(LIMIT_S)}
        subscriber = Bench(listing("subscriber"), workshop).peer("official", "subscriber", driver, **common)
        assert subscriber.result(LIMIT_S)["ready"]
        publisher = Bench(listing("publisher"), workshop).peer("official", "publisher", driver, seed=1, length_max=1000, **common)
        for peer, role in ((publisher, "publisher"), (subscriber, "subscriber")):
            assert peer.outcome(role, LIMIT_S)["messages"] == MESSAGES
        for peer in (publisher, subscriber):
            assert peer.finish() == 0, peer.said()
        driver.process.stop()
    for name in ("driver", "subscriber", "publisher"):
        yield from (line for line in (scratch / name).read_text().splitlines(keepends=True) if not line.startswith("#"))
