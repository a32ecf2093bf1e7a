"""Where the code of a message schema goes, below the output folder.

A user's schema becomes one package, whatever the targets: `PACKAGE/__init__.py` has the flyweights, `PACKAGE/arrow.py` the Arrow
schemas, and so on; importing the package loads none of the others.  The project's own schemas lie beside its layouts, in one
sub-package per target.

What generated code needs at run time is beside it: within the package, so that it can be moved and copied, or once for all schemas
that share a parent, as the project's own do and those that a user generates into one.
"""

from __future__ import annotations

from dataclasses import dataclass

# What stands in the folder that packages share: they cannot have these names.
SHARED = ("support", "_errors", "_columns", "_arrow", "_scapy")
MODULE_SUFFIXES = (".py", ".pyi", ".pyx", ".pxd")


@dataclass(frozen=True, slots=True)
class Placement:
    """The dotted name of a schema's package, and whether it is one of the project's own (`package` is then its schema's name).

    `is_grouped`: it shares with other packages of the same parent what all of them need at run time.
    """

    package: str
    is_project: bool = False
    is_grouped: bool = False

    @property
    def source(self) -> str:
        """What documents say that they were made from."""
        return f"spec/{self.package}.xml" if self.is_project else self.package

    @classmethod
    def of_project(cls, name: str) -> Placement:
        return cls(name, is_project=True)

    def folder(self, target: str) -> str:
        """The folder of a target that needs several modules."""
        if self.is_project:
            return f"aerowire/codecs/{target}/{self.package}"
        return self.package.replace(".", "/")

    def file(self, target: str, suffix: str = ".py") -> str:
        """The one file of a target that needs no more.

        A module is called after its target, a document (a dissector, a reference) after its schema: documents of several schemas
        are often put into one folder.
        """
        if self.is_project:
            return f"aerowire/codecs/{target}/{self.package}{suffix}"
        name = target if suffix in MODULE_SUFFIXES else self.package.rpartition(".")[2]
        return f"{self.package.replace('.', '/')}/{name}{suffix}"

    def shared_folder(self) -> str:
        """The folder of what generated code needs at run time."""
        if self.is_project:
            return "aerowire/codecs"
        package = self.package.rpartition(".")[0] if self.is_grouped else self.package
        return package.replace(".", "/")


def dots(folder: str, shared: str) -> str:
    """How a module in a folder names what lies in `shared`, the folder itself or one above it, in a relative import."""
    return "." * (1 + folder.count("/") - shared.count("/"))
