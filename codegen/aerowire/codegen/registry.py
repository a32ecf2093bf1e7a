"""All targets by name, and the rendering of a project by some of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from aerowire.codegen.layouts.targets.arrow import ArrowTarget
from aerowire.codegen.layouts.targets.dtypes import DtypesTarget
from aerowire.codegen.layouts.targets.flyweights import FlyweightsTarget
from aerowire.codegen.layouts.targets.layout_json import JsonTarget
from aerowire.codegen.layouts.targets.native import NativeTarget
from aerowire.codegen.layouts.targets.scapy import ScapyTarget
from aerowire.codegen.layouts.targets.wireshark import WiresharkTarget
from aerowire.codegen.mark import mark
from aerowire.codegen.project import Project
from aerowire.codegen.reference import MarkdownTarget
from aerowire.codegen.rendering.base import PACKAGE
from aerowire.codegen.sbe.targets.registry import MESSAGE_TARGETS
from aerowire.codegen.tables.targets.tables import TablesTarget
from aerowire.codegen.target_names import DEFAULT_TARGETS, TARGETS


class Target(Protocol):
    """A target renders a whole project to texts by path, relative to the output folder."""

    name: str

    def render(self, project: Project) -> dict[str, str]: ...


LAYOUT_TARGETS: dict[str, Target] = {
    target.name: target
    for target in (
        FlyweightsTarget(),
        NativeTarget(),
        DtypesTarget(),
        ArrowTarget(),
        ScapyTarget(),
        TablesTarget(),
        WiresharkTarget(),
        MarkdownTarget(),
        JsonTarget(),
    )
}
assert {*LAYOUT_TARGETS, *MESSAGE_TARGETS} == set(TARGETS), "target_names lists other targets than there are"

_INIT = f'''"""Generated codecs, one sub-package per target; each imports only what its target needs.

{mark()}
"""
'''


def render_all(project: Project, names: Sequence[str] = ()) -> dict[str, str]:
    """Return the text of every file by its path below the output folder; without names, of all targets but those on request."""
    files: dict[str, str] = {}
    if not project.messages or project.schemas or any(placement.is_project for _, placement in project.messages):
        files |= {f"{PACKAGE}/__init__.py": _INIT, f"{PACKAGE}/py.typed": ""}
        for name in names or DEFAULT_TARGETS:
            if name in LAYOUT_TARGETS:
                files.update(LAYOUT_TARGETS[name].render(project))
    for schema, placement in project.messages:
        for name in names or DEFAULT_TARGETS:
            if name in MESSAGE_TARGETS:
                files.update(MESSAGE_TARGETS[name].render(schema, placement))
    return dict(sorted(files.items()))
