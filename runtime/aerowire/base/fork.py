"""Poisons open objects in the child of a fork: they share memory, sockets and files with a parent that goes on using them."""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable
from typing import Protocol

from aerowire.base.errors import ForkedProcessError


class Poisonable(Protocol):
    """An object that must not work in a forked child."""

    def _on_fork(self) -> None:
        """Mark the object so that its calls raise ForkedProcessError; unlink, close and signal nothing."""
        ...


_lock = threading.Lock()
_open: weakref.WeakSet[Poisonable] = weakref.WeakSet()


def poison(target: Poisonable) -> None:
    """Call `target._on_fork()` in every child forked while `target` is alive."""
    with _lock:
        _open.add(target)


def forked(what: str) -> ForkedProcessError:
    """Return the error that a poisoned object raises."""
    return ForkedProcessError(
        f"{what} was opened before fork()",
        where=f"process {os.getpid()}",
        hint="open it in the child, or start processes by spawn",
    )


def call_in_child(function: Callable[[], None]) -> None:
    """Call `function` in every child forked from now on."""
    os.register_at_fork(after_in_child=function)


def _poison_all() -> None:
    global _lock  # noqa: PLW0603 - the parent's lock may be held by a thread that does not exist here
    _lock = threading.Lock()
    for target in list(_open):
        target._on_fork()
    _open.clear()


call_in_child(_poison_all)
