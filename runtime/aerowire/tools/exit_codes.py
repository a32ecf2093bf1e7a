"""What a command's exit code says, and how it comes from what the command did.

Loads nothing but the errors: it is there before the command is.
"""

from __future__ import annotations

import sys
from collections.abc import Callable

from aerowire.base.errors import AerowireError
from aerowire.process.interruption import Interruption
from aerowire.process.output import discard_output

DONE = 0
FINDING = 1
USAGE = 2


def exit_code_of(work: Callable[[], int], interruption: Interruption, name: str, *, is_endless: Callable[[], bool] = lambda: False) -> int:
    """Do the work and return its exit code; an error is one line on standard error, after `name`.

    A signal is how something that `is_endless` ends, and then it is done; anything else has not done its job.
    """
    try:
        code = work()
        sys.stdout.flush()
        return code
    except BaseException as error:
        # Whatever an interruption became on its way up, it is one.
        if interruption.is_requested or isinstance(error, KeyboardInterrupt):
            return _interrupted(name, is_endless=is_endless())
        if isinstance(error, AerowireError):
            from aerowire.tools.terminal.figures import printable_error

            print(f"{name}: {printable_error(error)}", file=sys.stderr)
            return USAGE
        if isinstance(error, OSError):
            return _refused_by_system(name, error)
        if isinstance(error, SystemExit):
            return _ended_by_parser(name, error)
        raise


def _ended_by_parser(name: str, error: SystemExit) -> int:
    """Return the code of `--help`, `--version` or wrong usage, or of the output that could not be written."""
    try:
        sys.stdout.flush()
    except OSError as refused:
        return _refused_by_system(name, refused)
    raise error


def _interrupted(name: str, *, is_endless: bool) -> int:
    if is_endless:
        return DONE
    clear_line = "\r\033[K" if sys.stderr.isatty() else ""  # of what was under way
    print(f"{clear_line}{name}: interrupted", file=sys.stderr)
    return FINDING


def _refused_by_system(name: str, error: OSError) -> int:
    # What is still buffered has nowhere to go; the interpreter must not try once more at exit.
    if isinstance(error, BrokenPipeError):
        discard_output()
        return DONE  # whoever read our output has gone
    from aerowire.base.text import printable

    print(printable(f"{name}: {error.strerror or error}: {error.filename or ''}".rstrip(": ")), file=sys.stderr)
    discard_output()
    return USAGE
