"""What `aerowire demo` needs, checked before it starts anything: packages, a Java, room on disk and in shared memory."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

from aerowire.tools.demo.demo_stage import DemoError

PACKAGES = ("scapy", "pyarrow", "pyspark", "pandas")
SHARED_MEMORY = Path("/dev/shm")
# Two drivers with counters of COUNTERS_LENGTH and a log each, then a third one for the replay: 26 MiB were measured.
MEMORY_LENGTH = 40 << 20
JAVA_LIMIT_S = 60.0


def check_packages() -> None:
    """Raise DemoError when a package that the demo needs is not installed."""
    missing = [name for name in PACKAGES if find_spec(name) is None]
    if missing:
        raise DemoError(
            "the demo needs packages that are not installed",
            expected=", ".join(PACKAGES),
            actual=f"no {', no '.join(missing)}",
            hint="pip install 'aerowire[all]' installs them",
        )


def check_java() -> None:
    """Raise DemoError when there is no Java that Spark can use."""
    command = [sys.executable, "-m", "aerowire.pcap.spark.java"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL, timeout=JAVA_LIMIT_S)
    if done.returncode:
        raise DemoError(done.stderr.strip() or "no Java for Spark was found")


def memory_folder() -> Path:
    """Return the folder for the driver directories: /dev/shm, or the temporary folder when /dev/shm is too small or missing.

    Raises DemoError when neither has MEMORY_LENGTH bytes of room.
    """
    folders = [folder for folder in (SHARED_MEMORY, Path(tempfile.gettempdir())) if folder.is_dir()]
    free = {folder: shutil.disk_usage(folder).free for folder in folders}
    for folder, room in free.items():
        if room >= MEMORY_LENGTH:
            return folder
    raise DemoError(
        "no room for the driver directories",
        where=" and ".join(map(str, folders)),
        expected=f"{MEMORY_LENGTH} free bytes in one of them",
        actual=", ".join(map(str, free.values())),
        hint="free some, or set TMPDIR to a folder with room",
    )
