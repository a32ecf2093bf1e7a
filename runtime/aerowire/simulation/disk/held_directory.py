"""A directory of a simulated disk that a process holds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aerowire.simulation.disk.directory_tree import RefusedError

if TYPE_CHECKING:
    from os import PathLike

    from aerowire.base.file_facts import FileFacts
    from aerowire.simulation.disk.directory_tree import Directory, DirectoryTree
    from aerowire.simulation.disk.simulated_files import SimulatedFiles


class SimulatedHeldDirectory:
    """The HeldDirectory of a process in the world. Its process releases it when it is killed."""

    def __init__(self, files: SimulatedFiles, tree: DirectoryTree, directory: Directory) -> None:
        self._files = files
        self._tree = tree
        self._directory = directory
        directory.holder = self

    @property
    def is_held(self) -> bool:
        """Whether it has not been released."""
        return self._directory.holder is self

    def facts(self) -> FileFacts:
        """Return the facts of the directory."""
        return self._files.facts_of(self._directory)

    def facts_of(self, name: str) -> FileFacts | None:
        """Return the facts of a name in it, None where there is nothing."""
        node = self._directory.names.get(name)
        return None if node is None else self._files.facts_of(node)

    def is_at(self, path: str | PathLike[str]) -> bool:
        """Return whether a path leads to it."""
        try:
            return self._tree.find(str(path)) is self._directory
        except RefusedError:
            return False

    def release(self) -> None:
        """Release the lock. Idempotent."""
        if self.is_held:
            self._directory.holder = None
