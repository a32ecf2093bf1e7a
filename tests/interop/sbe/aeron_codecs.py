"""The codecs of the Archive's and the Cluster's messages that the official jar carries: what they say of themselves, encode and decode.

Knows how java/Codecs.java is asked; knows nothing of our schemas.
"""

from __future__ import annotations

import subprocess
from collections import defaultdict
from collections.abc import Sequence

from tests.interop.harness import Java
from tests.support.processes import LIMIT_S

# Our schemas in spec/, and the packages that the official tool made of theirs.
PACKAGES = {
    "archive": "io.aeron.archive.codecs",
    "archive_mark": "io.aeron.archive.codecs.mark",
    "cluster": "io.aeron.cluster.codecs",
    "cluster_mark": "io.aeron.cluster.codecs.mark",
    "cluster_node_state": "io.aeron.cluster.codecs.node",
}

# By package and class: constants, results of static methods ("xxxId()"), and the numbers of an enum's values.
Description = dict[str, dict[str, dict[str, str]]]


def describe_codecs(java: Java) -> Description:
    """Return what the classes of all packages say of themselves."""
    found: Description = defaultdict(lambda: defaultdict(dict))
    for line in _ask(java, ["describe", str(java.jar), *PACKAGES.values()], "").splitlines():
        package, name, key, value = line.split("\t")
        found[package][name][key] = value
    return found


def run_steps(java: Java, steps: Sequence[str]) -> list[str]:
    """Encode and decode as the steps say (see Codecs.java); return the lines that were printed."""
    return _ask(java, ["run"], "".join(f"{step}\n" for step in steps)).splitlines()


def _ask(java: Java, arguments: Sequence[str], said: str) -> str:
    command = java.command("Codecs", *arguments)
    done = subprocess.run(command, input=said, capture_output=True, text=True, timeout=LIMIT_S, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout
