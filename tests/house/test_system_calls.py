"""Hold every call to the operating system to `aerowire.system`, and every use of that to its ports.

A module elsewhere that makes a call, or that imports from `system` what is none of the ports, stands in one of two lists of exceptions.
What goes through `Ports` can be replaced by a simulated world; what stands in the lists cannot. Commands (`tools`) may call the system
themselves.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from tests.house.test_import_rules import imported, sources

# Modules that are for calls to the system, of Python and of Cython; and of some the names that call nothing.
CALLING = re.compile(
    r"(asyncio\.subprocess|atexit|ctypes|fcntl|getpass|glob|grp|io|libc\.(?:signal|stdio|time)|mmap|multiprocessing|os|posix|pty|pwd"
    r"|random|resource|secrets|select|selectors|shutil|signal|socket|subprocess|tempfile|termios|threading|time|urllib\.request|uuid)"
    r"(?:\.(\w+).*)?"
)
HARMLESS = {
    "io": {"BytesIO", "StringIO"},
    "threading": {"Lock", "RLock", "current_thread", "get_ident", "local"},  # which thread this is, and what belongs to it
    "os": {"PathLike", "fsdecode", "fsencode", "fspath", "strerror"},
    "socket": {"AF_INET", "AF_INET6", "inet_ntop", "inet_pton"},
}
# Headers of C that declare no call to the system, or of which only constants, types and memory are used.
HARMLESS_HEADERS = {
    f"{name}.h"
    for name in (
        "Python",
        "arpa/inet",
        "netinet/in",
        "smmintrin",
        "stdatomic",
        "stdint",
        "stdlib",
        "string",
        "sys/socket",
        "sys/uio",
        "wmmintrin",
    )
}
# Methods of pathlib.Path that look at the file system or change it, unless they are those of a files port.
PATH_METHODS = re.compile(
    r"(?<!\bos)(?<!\bfiles)\.(chmod|cwd|exists|glob|hardlink_to|home|is_dir|is_file|is_symlink|iterdir|lstat|mkdir|open|read_bytes|read_text|readlink|rename"
    r"|rglob|rmdir|samefile|stat|symlink_to|touch|unlink|write_bytes|write_text)\("
)

# Modules that call the system from outside of `system`: by what, and why.
EXCEPTIONS = {
    "aerowire.base.directory": ("os pathlib pwd tempfile", "where a driver's directory is by default"),
    "aerowire.aio.threads": ("threading", "calls that wait leave the event loop"),
    "aerowire.base.fork": ("os", "what open objects do in a forked child"),
    "aerowire.base.idle": ("posix sched.h", "agents rest their own threads"),
    "aerowire.base.options": ("os", "options come from the environment"),
    "aerowire.base.properties": ("pathlib urllib.request", "options come from files and URLs"),
    "aerowire.base.runner": ("atexit os pthread.h threading", "threads of agents, which `ports.threads` gives or refuses"),
    "aerowire.agents.worker_thread": ("threading", "an agent with threads of its own hands calls that wait to one more"),
    "aerowire.driver.media_driver": ("threading", "its termination is waited for"),
    "aerowire.driver.spawned": ("atexit time", "a driver in a process of its own"),
    "aerowire.ipc.error_report": ("time", "times are written out as texts"),
    "aerowire.memory.lost_pages": ("mmap sys/mman.h", "mapped memory is its kind"),
    "aerowire.memory.region": ("fcntl.h mmap os sys/mman.h", "mapped files are its kind"),
    "aerowire.process.interruption": ("signal threading time", "signals of a process, for every command"),
    "aerowire.process.output": ("os", "standard output of a process, for every command"),
}

# Of `system`, besides `system.ports`: what ports take and return, and what calls nothing.
PORTS = {
    *(
        "InterfaceAddress",
        "InterfaceLister",
        "IpAddress",
        "NameResolver",
        "ProcessPort",
        "Runner",
        "ThreadFactory",
        "ThreadPort",
        "WaitPort",
    ),
    *("ManualClock", "SeededRandom"),
}
# Modules that import from `system` what is none of the ports: what, and why.
BESIDE_PORTS = {
    "aerowire.aio.parking": ("thread_rest wakeup", "the watcher of an event loop has a thread of its own"),
    "aerowire.aio.waiting": ("clock wakeup", "event loops run in real time"),
    "aerowire.aio.watcher": ("wakeup", "an event loop is woken by a descriptor"),
    "aerowire.client.conductor.driver_connection": ("driver_life", "it looks by the ports that it is given"),
    "aerowire.client.conductor.driver_files": ("driver_life", "as above"),
    "aerowire.client.handles.waiting": ("waiting", "`wait_for` is called by applications, which have no ports"),
    "aerowire.driver.agents.receiver": ("poller", "it polls the descriptors of the ports that have one"),
    "aerowire.driver.agents.sender": ("poller", "it polls the descriptors of the ports that have one"),
    "aerowire.driver.channels.interfaces": ("interfaces names", "defaults of arguments that a driver gives from its ports"),
    "aerowire.driver.channels.socket_address": ("interfaces", "the index of an interface in a scoped address"),
    "aerowire.driver.channels.udp_channel": ("interfaces names", "defaults of arguments that a driver gives from its ports"),
    "aerowire.driver.conductor.driver_conductor": ("heap", "an idle driver gives free memory back"),
    "aerowire.driver.context": ("udp", "lengths of socket buffers are tried out"),
    "aerowire.driver.directory.driver_directory": ("driver_life", "as above"),
    "aerowire.driver.media.capture": ("descriptors files", "a capture is written to a file"),
    "aerowire.driver.media_driver": ("processes", "which processors a thread may use"),
    "aerowire.agents.event_ring": ("wakeup", "a conductor sleeps on a descriptor"),
    "aerowire.agents.woken_idle": ("wakeup", "an agent's thread sleeps on a descriptor"),
    "aerowire.cluster.services.container_sleeper": ("wakeup", "as above"),
    "aerowire.nodes.node_threads": ("threads waiting", "ports by which agents of a node share a thread"),
    "aerowire.archive.agents.conductor_sleeper": ("thread_rest", "the conductor's thread makes its own sleeps precise"),
    "aerowire.driver.spawned": ("child_process files", "a driver in a process of its own"),
}


def calls(text: str) -> set[str]:
    """Return the modules and the headers by which `text`, a source, calls the operating system."""
    found = set(re.findall(r'(?:#include |extern from ")<([\w./]+)>', text)) - HARMLESS_HEADERS
    code = re.sub(r'("""|\'\'\')(?:.|\n)*?\1', '""', text)
    code = re.sub(r"(^|\s)#.*", "", code, flags=re.M)
    names = imported("aerowire", code)
    for name in names:
        if match := CALLING.fullmatch(name):
            module, member = match.groups()
            used = {member} if member else set(re.findall(rf"(?<![\w.]){module}\.(\w+)", code))
            is_renamed = member is None and re.search(rf"\b{module} as \w", code)
            if module not in HARMLESS or is_renamed or not used <= HARMLESS[module]:
                found.add(module)
    if re.search(r"(?<![\w.])(?<!def )open\(", code) or (any(name.startswith("pathlib") for name in names) and PATH_METHODS.search(code)):
        found.add("pathlib")
    return found


def beside_ports(text: str) -> set[str]:
    """Return the modules of `system` from which `text`, a source, imports something that is none of the ports."""
    found = set()
    for name in imported("aerowire", text):
        package, _, rest = name.partition("aerowire.system.")
        module, _, member = rest.partition(".")
        if not package and module and module != "ports" and member not in PORTS:
            found.add(module)
        elif name == "aerowire.system":
            found.add("system")
    return found


def checked() -> Iterator[tuple[str, str]]:
    """Yield name and text of each module that may not call the operating system; a native module is all of its files."""
    texts: dict[str, str] = {}
    for module, path in sources():
        if "runtime" in path.parts and module.split(".")[1] not in {"system", "tools"} and path.suffix != ".pyi":
            texts[module] = texts.get(module, "") + path.read_text()
    yield from texts.items()


def test_the_system_is_called_by_system_alone() -> None:
    found = {module: " ".join(sorted(by)) for module, text in checked() if (by := calls(text))}
    assert found == {module: by for module, (by, _) in EXCEPTIONS.items()}


def test_the_system_is_used_through_its_ports() -> None:
    found = {module: " ".join(sorted(by)) for module, text in checked() if (by := beside_ports(text))}
    assert found == {module: by for module, (by, _) in BESIDE_PORTS.items()}


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("from aerowire.system.files import identity_of", {"files"}),
        ("from aerowire.system import files, directories", {"files", "directories"}),
        ("from aerowire.system.wakeup cimport Wakeup", {"wakeup"}),
        ("import aerowire.system", {"system"}),
        ("from aerowire.system.names import NameResolver, resolve_with_system", {"names"}),
        ("from aerowire.system.names import NameResolver", set()),
        ("from aerowire.system.ports import Ports, SocketSpec", set()),
        ("if TYPE_CHECKING:\n    from aerowire.system.clock import SystemClock\n", set()),
        ("from aerowire.systematic.files import x", set()),
    ],
)
def test_what_is_beside_the_ports_is_found(text: str, found: set[str]) -> None:
    assert beside_ports(text) == found


@pytest.mark.parametrize(
    ("text", "call"),
    [
        ("import os\n\nos.unlink(name)", "os"),
        ('import os\n\ntext = f"process {os.getpid()}"', "os"),
        ("import os as system\n\nsystem.getpid()", "os"),
        ("def f():\n    from os import getpid", "os"),
        ("from os import (\n    PathLike,\n    kill,\n)", "os"),
        ("import socket\n\nsocket.getaddrinfo(host, None)", "socket"),
        ("import fcntl", "fcntl"),
        ("import time\n\ntime.sleep(1)", "time"),
        ("from time import monotonic_ns", "time"),
        ("import threading\n\nthreading.Thread(target=run)", "threading"),
        ("from threading import RLock, Timer", "threading"),
        ("import atexit", "atexit"),
        ("import random", "random"),
        ("import errno, shutil", "shutil"),
        ("from io import FileIO", "io"),
        ("from posix.unistd cimport close", "posix"),
        ("from posix cimport unistd", "posix"),
        ("cimport posix.fcntl", "posix"),
        ("from libc cimport stdio", "libc.stdio"),
        ('cdef extern from "<unistd.h>" nogil:\n    int getpid()', "unistd.h"),
        ('cdef extern from *:\n    """\n    #include <sys/socket.h>\n    #include <poll.h>\n    """', "poll.h"),
        ("from pathlib import Path\n\nPath(name).mkdir()", "pathlib"),
        ('with open(name, "rb") as file:\n    pass', "pathlib"),
    ],
)
def test_a_call_is_found(text: str, call: str) -> None:
    assert calls(text) == {call}


@pytest.mark.parametrize(
    "text",
    [
        "import os\n\nname = os.fspath(path)",
        "from os import PathLike",
        "import threading\n\nlock = threading.RLock()",
        "import socket\n\nsocket.inet_pton(socket.AF_INET, host)",
        "from pathlib import Path\n\npath = Path(folder) / name",
        '"""import os\n\nos.kill(pid)"""',
        "import os  # os.kill(pid)",
        "regions.exists(path)\nself.open(channel)",
        "from libc.string cimport memcpy",
        "from aerowire.system.processes import own_process_id",
    ],
)
def test_what_calls_nothing_is_not_found(text: str) -> None:
    assert not calls(text)
