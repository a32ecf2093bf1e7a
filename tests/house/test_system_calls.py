"""Hold every call to the operating system to `aerowire.system`: a module elsewhere that makes one stands in the list of exceptions.

Commands (`tools`) may call the system themselves. Time and threads of the standard library do not count.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from tests.house.test_import_rules import imported, sources

# Modules that are for calls to the system, of Python and of Cython; and of some the names that call nothing.
CALLING = re.compile(
    r"(asyncio\.subprocess|ctypes|fcntl|getpass|glob|grp|io|libc\.(?:signal|stdio|time)|mmap|multiprocessing|os|posix|pty|pwd|resource"
    r"|secrets|select|selectors|shutil|signal|socket|subprocess|tempfile|termios|urllib\.request|uuid)(?:\.(\w+).*)?"
)
HARMLESS = {
    "io": {"BytesIO", "StringIO"},
    "os": {"PathLike", "fsdecode", "fsencode", "fspath", "strerror"},
    "socket": {"AF_INET", "AF_INET6", "inet_ntop", "inet_pton"},
}
# Headers of C that declare no call to the system, or of which only constants, types and memory are used.
HARMLESS_HEADERS = {
    f"{name}.h" for name in ("Python", "arpa/inet", "netinet/in", "stdatomic", "stdint", "stdlib", "string", "sys/socket", "sys/uio")
}
# Methods of pathlib.Path that look at the file system or change it.
PATH_METHODS = re.compile(
    r"(?<!\bos)\.(chmod|cwd|exists|glob|hardlink_to|home|is_dir|is_file|is_symlink|iterdir|lstat|mkdir|open|read_bytes|read_text|readlink|rename"
    r"|rglob|rmdir|samefile|stat|symlink_to|touch|unlink|write_bytes|write_text)\("
)

# Modules that call the system from outside of `system`: by what, and why.
EXCEPTIONS = {
    "aerowire.base.directory": ("os pathlib pwd tempfile", "where a driver's directory is by default"),
    "aerowire.base.fork": ("os", "what open objects do in a forked child"),
    "aerowire.base.idle": ("posix sched.h", "agents rest their own threads"),
    "aerowire.base.options": ("os", "options come from the environment"),
    "aerowire.base.properties": ("pathlib urllib.request", "options come from files and URLs"),
    "aerowire.base.runner": ("os pthread.h", "threads of agents: their names and processors"),
    "aerowire.memory.lost_pages": ("mmap sys/mman.h", "mapped memory is its kind"),
    "aerowire.memory.region": ("fcntl.h mmap os sys/mman.h", "mapped files are its kind"),
    "aerowire.process.interruption": ("signal", "signals of a process, for every command"),
    "aerowire.process.output": ("os", "standard output of a process, for every command"),
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
