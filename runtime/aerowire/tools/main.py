"""The `aerowire` command: finds its subcommands by entry point and runs the one that was asked for.

Exit codes: 0 done, 1 a finding, 2 usage or unreadable input. Errors are one line on standard error.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import signal
import sys
from collections.abc import Callable, Sequence
from typing import NoReturn

from aerowire.base.errors import AerowireError

EXIT_DONE = 0
EXIT_FINDING = 1
EXIT_USAGE = 2

ENTRY_POINT_GROUP = "aerowire.commands"

Subparsers = argparse._SubParsersAction  # argparse has no public name for it
Command = Callable[["Subparsers[argparse.ArgumentParser]"], None]

# Our own subcommands, which need no installation to be found; others come by entry point.
_OWN: dict[str, str] = {
    "driver": "aerowire.tools.driver:command",
    "publish": "aerowire.tools.publish:command",
    "subscribe": "aerowire.tools.subscribe:command",
    "stat": "aerowire.tools.stat:command",
    "ping": "aerowire.tools.ping:command",
    "throughput": "aerowire.tools.throughput:command",
    "pcap": "aerowire.pcap.commands:command",
    "demo": "aerowire.tools.demo:command",
}


class _TerminatedError(BaseException):
    """SIGTERM, as an exception: it must unwind like Ctrl-C and be caught by nobody on the way."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run `aerowire` with `arguments` (default: the process's) and return the exit code."""
    argv = list(sys.argv[1:] if arguments is None else arguments)
    with contextlib.suppress(ValueError):  # only the main thread may set a handler
        signal.signal(signal.SIGTERM, _on_sigterm)
    try:
        parser = _parser(argv)
        parsed = parser.parse_args(argv)
        return int(parsed.run(parsed))
    except AerowireError as error:
        print(f"aerowire: {error}", file=sys.stderr)
        return EXIT_USAGE
    except BrokenPipeError:
        # Whoever read our output has gone; the interpreter must not complain about it at exit.
        with contextlib.suppress(OSError):
            sys.stdout.close()
        return EXIT_DONE
    except OSError as error:
        print(f"aerowire: {error.strerror or error}: {error.filename or ''}".rstrip(": "), file=sys.stderr)
        return EXIT_USAGE
    except (KeyboardInterrupt, _TerminatedError):
        return EXIT_DONE


def _on_sigterm(_number: int, _frame: object) -> NoReturn:
    raise _TerminatedError


def _parser(argv: Sequence[str]) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="aerowire", description="Aeron messaging for Python.")
    subparsers = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    wanted = next((argument for argument in argv if not argument.startswith("-")), None)
    # The one that is asked for is enough; all of them are loaded only to be listed or to say what there is.
    homes = _OWN if wanted in _OWN else _homes()
    names = [wanted] if wanted in homes else list(homes)
    for name in names:
        _load(name, homes[name], subparsers, is_required=name == wanted)
    return parser


def _homes() -> dict[str, str]:
    homes = dict(_OWN)
    from importlib import metadata

    for entry in metadata.entry_points(group=ENTRY_POINT_GROUP):
        homes[entry.name] = entry.value
    return homes


def _load(name: str, home: str, subparsers: Subparsers[argparse.ArgumentParser], *, is_required: bool) -> None:
    module_name, _, attribute = home.partition(":")
    try:
        command: Command = getattr(importlib.import_module(module_name), attribute)
    except ImportError as error:
        if is_required:
            raise AerowireError(
                f"the command '{name}' cannot be loaded",
                where=home,
                expected="its packages to be installed",
                actual=str(error),
            ) from None
        return  # a command of another package that is not installed is not listed
    command(subparsers)


if __name__ == "__main__":
    sys.exit(main())
