"""An archive of the classes that official components and peers load, which spares each of some hundred virtual machines to parse them.

It is made once for a jar, a Java and our peers, of what these load: a driver and two peers that send over UDP, an Archive that is asked for
every operation, and a node of a cluster with its client. A machine that cannot use it loads its classes as ever.
"""

from __future__ import annotations

import hashlib
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

from tests.interop.archive.nodes import start_archive
from tests.interop.archive.operations import Operations
from tests.interop.cluster.service_nodes import ServiceNode
from tests.interop.harness import WORK, Bench, Driver, Java, locked_work
from tests.interop.scenarios import Scenario
from tests.support.processes import LIMIT_S, free_port, open_workshop, wait_for_driver
from tests.support.spark.start import QUIET

MESSAGES = 100


def with_archive(java: Java) -> Java:
    """Return the same implementation, whose virtual machines use the archive; made if there is none."""
    executable = Path(java.executable).resolve()
    # Another version of Java has another time, and what is loaded stands in this file.
    facts = (java.classes.name, str(java.jar), str(executable), executable.stat().st_mtime_ns, java.flags, Path(__file__).read_text())
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


def _loaded(java: Java, scratch: Path) -> Iterator[str]:
    """Yield the lines by which official components and peers say what they have loaded."""
    lists: list[Path] = []
    with open_workshop(scratch) as workshop:

        def bench(name: str) -> Bench:
            lists.append(scratch / name)
            return Bench(replace(java, flags=(*java.flags, f"-XX:DumpLoadedClassList={lists[-1]}")), workshop)

        driver = bench("driver").driver("official")
        wait_for_driver(driver.directory, driver.process)
        _send(driver, bench("subscriber"), bench("publisher"))
        archive = start_archive(Scenario(bench("archive"), MESSAGES), "official", driver)
        Operations(partial(archive.connect, "udp"), source=archive.control_channel, response=None).run()
        archive.stop()
        driver.process.stop()
        node = ServiceNode(bench("node"))
        node.start(0)
        node.connect()
        node.send("a message")
        node.stop()
    for path in lists:
        yield from (line for line in path.read_text().splitlines(keepends=True) if not line.startswith("#"))


def _send(driver: Driver, subscribing: Bench, publishing: Bench) -> None:
    common = {"channel": f"aeron:udp?endpoint=127.0.0.1:{free_port()}", "stream": 1, "messages": MESSAGES, "timeout": int(LIMIT_S)}
    subscriber = subscribing.peer("official", "subscriber", driver, **common)
    assert subscriber.result(LIMIT_S)["ready"]
    publisher = publishing.peer("official", "publisher", driver, seed=1, length_max=1000, **common)
    for peer, role in ((publisher, "publisher"), (subscriber, "subscriber")):
        assert peer.outcome(role, LIMIT_S)["messages"] == MESSAGES
    for peer in (publisher, subscriber):
        assert peer.finish() == 0, peer.said()
