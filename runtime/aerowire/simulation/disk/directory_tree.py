"""The names on a simulated disk: as processes see them, and as they are on the disk.

A change of names is on the disk once a directory that it touches has been synced. When the power fails, the changes that were not synced
are kept or lost: none, all, the first of them, or any, each as a whole, and those of one file or directory in their order. What is in
memory alone (/dev/shm) loses all names.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from errno import EBUSY, EEXIST, EINVAL, EISDIR, ENOENT, ENOTDIR, ENOTEMPTY, EXDEV
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from aerowire.base.ports import RandomPort

DEFAULT_MODE = 0o755


class RefusedError(Exception):
    """A call that the file system refuses with an errno."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


@dataclass(eq=False, slots=True)
class Directory:
    """A directory. Values of `names` and `durable` are Directory objects, or files of whatever kind the disk has.

    `is_volatile` of one whose content is in memory alone, and `holder` is what has its exclusive lock.
    """

    inode: int
    mode: int = DEFAULT_MODE
    names: dict[str, Any] = field(default_factory=dict)
    durable: dict[str, Any] = field(default_factory=dict)
    is_volatile: bool = False
    holder: object = None


@dataclass(eq=False, frozen=True, slots=True)
class Edit:
    """What a change does to one name: it gives it to a node, or, without one, takes it from `former`."""

    directory: Directory
    name: str
    node: Any
    former: Any

    def persist(self) -> None:
        """Do it on the disk, unless another node has come to the name there."""
        if self.node is not None:
            self.directory.durable[self.name] = self.node
        elif self.directory.durable.get(self.name) is self.former:
            del self.directory.durable[self.name]


class DirectoryTree:
    """Directories below a root, and the changes that are not on the disk yet.

    Paths are absolute. Methods raise RefusedError with the errno that a POSIX system gives.
    """

    def __init__(self, volatile: Sequence[str] = ()) -> None:
        """`volatile` are directories whose content is in memory alone; nothing of it is left when the power fails."""
        self.root = Directory(inode=1)
        self._inode = 1
        self._changes: list[tuple[Edit, ...]] = []
        for path in volatile:
            above = self.root
            for part in _parts(path):
                above = above.names.setdefault(part, Directory(self.next_inode()))
            above.is_volatile = True
        for directory in _directories(self.root):
            directory.durable = dict(directory.names)

    def next_inode(self) -> int:
        """Return a number that no node has had."""
        self._inode += 1
        return self._inode

    def find(self, path: str) -> Any:
        """Return the node of a path."""
        parts = _parts(path)
        return self._walk(parts) if parts else self.root

    def directory(self, path: str) -> Directory:
        """Return the directory of a path; ENOTDIR for a file."""
        node = self.find(path)
        if not isinstance(node, Directory):
            raise RefusedError(ENOTDIR)
        return node

    def put(self, path: str, node: Any) -> None:
        """Give a new node a name that is free."""
        directory, name = self._place(path, EEXIST)
        if name in directory.names:
            raise RefusedError(EEXIST)
        self._change(Edit(directory, name, node, None))

    def make_directory(self, path: str, mode: int) -> None:
        """Make a directory."""
        directory, _ = self._place(path, EEXIST)
        self.put(path, Directory(self.next_inode(), mode, is_volatile=directory.is_volatile))

    def is_volatile(self, path: str) -> bool:
        """Return whether the directory that a name is in has its content in memory alone."""
        directory, _ = self._place(path, EBUSY)
        return directory.is_volatile

    def remove_file(self, path: str) -> Any:
        """Take the name from a file, which is returned."""
        directory, name = self._place(path, EISDIR)
        node = self._named(directory, name)
        if isinstance(node, Directory):
            raise RefusedError(EISDIR)
        self._change(Edit(directory, name, None, node))
        return node

    def remove_directory(self, path: str) -> None:
        """Delete an empty directory."""
        directory, name = self._place(path, EBUSY)
        node = self._named(directory, name)
        if not isinstance(node, Directory):
            raise RefusedError(ENOTDIR)
        if node.names:
            raise RefusedError(ENOTEMPTY)
        self._change(Edit(directory, name, None, node))

    def rename(self, path: str, target: str) -> Any:
        """Give a node another name; return the file that had this name before, None where there was none."""
        source, name = self._place(path, EBUSY)
        goal, new_name = self._place(target, EBUSY)
        node = self._named(source, name)
        if source.is_volatile is not goal.is_volatile:
            raise RefusedError(EXDEV)
        parts, new_parts = _parts(path), _parts(target)
        if isinstance(node, Directory) and new_parts[: len(parts)] == parts and new_parts != parts:
            raise RefusedError(EINVAL)
        former = goal.names.get(new_name)
        if former is node:
            return None
        if isinstance(former, Directory):
            if parts[: len(new_parts)] == new_parts:
                raise RefusedError(ENOTEMPTY)
            if not isinstance(node, Directory):
                raise RefusedError(EISDIR)
            if former.names:
                raise RefusedError(ENOTEMPTY)
        elif former is not None and isinstance(node, Directory):
            raise RefusedError(ENOTDIR)
        self._change(Edit(source, name, None, node), Edit(goal, new_name, node, former))
        return None if isinstance(former, Directory) else former

    def sync(self, path: str) -> None:
        """Put the names of a directory on the disk, and with a rename its other half."""
        directory = self.directory(path)
        waiting = []
        for change in self._changes:
            if any(edit.directory is directory for edit in change):
                for edit in change:
                    edit.persist()
            else:
                waiting.append(change)
        self._changes = waiting

    def lose_power(self, random: RandomPort) -> None:
        """Leave what the disk has."""
        count = len(self._changes)
        chosen = (range(0), range(count), range(random.below(count + 1)), [i for i in range(count) if random.below(2)])[random.below(4)]
        lost = set()
        for number, change in enumerate(self._changes):
            node = change[-1].node or change[-1].former
            if number in chosen and node not in lost:
                for edit in change:
                    edit.persist()
            else:
                lost.add(node)  # what is done to it later builds on this
        self._changes = []
        for directory in _directories(self.root):
            directory.names = dict(directory.durable)

    def files(self) -> Iterator[Any]:
        """Yield each file that has a name, once for each of its names."""
        for directory in _directories(self.root):
            yield from (node for node in directory.names.values() if not isinstance(node, Directory))

    def entries(self) -> Iterator[tuple[str, Any]]:
        """Yield path and node of each file and of each directory below the root."""
        waiting = [("", self.root)]
        while waiting:
            above, directory = waiting.pop()
            for name, node in directory.names.items():
                yield f"{above}/{name}", node
                if isinstance(node, Directory):
                    waiting.append((f"{above}/{name}", node))

    def _change(self, *edits: Edit) -> None:
        for edit in edits:
            if edit.node is None:
                del edit.directory.names[edit.name]
            else:
                edit.directory.names[edit.name] = edit.node
        if not edits[0].directory.is_volatile:
            self._changes.append(edits)

    def _place(self, path: str, of_root: int) -> tuple[Directory, str]:
        # The directory that a name is, or would be, in.
        *above, name = _parts(path) or [""]
        if not name:
            raise RefusedError(of_root)
        node = self._walk(above) if above else self.root
        if not isinstance(node, Directory):
            raise RefusedError(ENOTDIR)
        return node, name

    def _walk(self, parts: list[str]) -> Any:
        node: Any = self.root
        for part in parts:
            if not isinstance(node, Directory):
                raise RefusedError(ENOTDIR)
            node = self._named(node, part)
        return node

    @staticmethod
    def _named(directory: Directory, name: str) -> Any:
        if name not in directory.names:
            raise RefusedError(ENOENT)
        return directory.names[name]


def _parts(path: str) -> list[str]:
    return [part for part in path.split("/") if part and part != "."]


def _directories(root: Directory) -> Iterator[Directory]:
    # Names are read after their directory was yielded: the caller may have replaced them.
    waiting = [root]
    while waiting:
        directory = waiting.pop()
        yield directory
        waiting += [node for node in directory.names.values() if isinstance(node, Directory)]
