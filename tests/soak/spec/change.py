"""A change in spec/ reaches everything: in a copy of the tree, a field's offset, an option's default and a counter's label are
changed, the code is generated again and rebuilt, and driver, capture reader and conformance suite follow without another edit.

The small form compiles the modules that use a changed accessor (spec_rebuild.py), the full form every stale one.
"""

from __future__ import annotations

import json
import re
from functools import partial
from pathlib import Path
from typing import Any

from tests.soak.bars import Part, Size
from tests.support import compiler
from tests.support.trees import ROOT, copy_tree, execute

NATIVE = Path("generated/aerowire/codecs/native")
SEED = 22

# file, what stands there, what shall stand there
NEW_LABEL = "Gaps that receivers asked for"
NEW_TERM_LENGTH = 1 << 20
CHANGES = (
    (
        "transport.xml",
        r'(<aw:struct name="Nak".*?name="term_offset"[^>]*offset=")20(".*?name="length"[^>]*offset=")24(")',
        r"\g<1>24\g<2>20\g<3>",
    ),
    ("options.xml", r'(name="ipc_term_buffer_length"[^>]*default=")\d+(")', rf"\g<1>{NEW_TERM_LENGTH}\g<2>"),
    ("counters.xml", r'(name="NAK_MESSAGES_SENT" label=")[^"]*(")', rf"\g<1>{NEW_LABEL}\g<2>"),
)


def change_specification(tree: Path) -> None:
    for name, pattern, replacement in CHANGES:
        path = tree / "spec" / name
        text, count = re.subn(pattern, replacement, path.read_text(), flags=re.DOTALL)
        assert count == 1, f"{name}: {count} places match {pattern}"
        path.write_text(text)


def changed_accessors(tree: Path) -> list[str]:
    """Return the names in the native accessors that mean something else in `tree` than here."""
    found: set[str] = set()
    for path in sorted((tree / NATIVE).glob("*.pxd")):
        lines = set(path.read_text().splitlines()) ^ set((ROOT / NATIVE / path.name).read_text().splitlines())
        text = "\n".join(lines)
        found |= set(re.findall(rf"\baerowire_{path.stem}_(\w+)", text)) | set(re.findall(r"^ +(\w+) = ", text, re.MULTILINE))
    assert {"nak_term_offset", "nak_set_length", "NAK_LENGTH_OFFSET"} <= found
    return sorted(found)


def probe(tree: Path, *arguments: str) -> dict[str, Any]:
    """Run the probe with the packages of `tree` and return what it found."""
    found = json.loads(execute(tree, "-m", "tests.soak.spec.probe", *arguments))
    assert isinstance(found, dict)
    return found


def run(size: Size, scratch: Path) -> str:
    tree = scratch / "tree"
    tree.mkdir()
    copy_tree(tree)
    before = probe(ROOT, "drive", str(scratch / "before.pcapng"))
    change_specification(tree)
    execute(tree, "-m", "aerowire.codegen.main", "generate")
    execute(tree, "-m", "aerowire.codegen.main", "check")
    if size is Size.FULL:
        built = execute(tree, "hatch_build.py") or "every stale module compiled"
    else:
        built = execute(tree, "-m", "tests.soak.spec.rebuild", str(compiler.FOLDER), *changed_accessors(tree)).strip()
    after = probe(tree, "drive", str(scratch / "after.pcapng"))

    # The driver follows: its default and its label.
    assert after["ipc_term_length"] == NEW_TERM_LENGTH != before["ipc_term_length"]
    assert NEW_LABEL in after["labels"]
    assert NEW_LABEL not in before["labels"]

    # Driver and capture reader follow together: the same reader on the other tree's capture sees the two fields exchanged.
    own = probe(tree, "read", str(scratch / "after.pcapng"))["naks"]
    foreign = probe(ROOT, "read", str(scratch / "after.pcapng"))["naks"]
    assert own
    assert [[length, offset] for offset, length in own] == foreign
    assert own != foreign

    # The conformance suite follows: its NAKs, crafted by the new layout, are understood by the new driver.
    verdicts = {
        case: execute(tree, "-m", "aerowire.conformance.main", "run", "--driver", "aerowire", "--case", case) for case in ("C01", "A05")
    }
    found = f"{len(own)} NAKs read with the new layout, default {NEW_TERM_LENGTH}, label {NEW_LABEL!r}, cases {', '.join(verdicts)} pass"
    return f"{built}; {found}"


def parts(size: Size) -> list[Part]:
    return [Part("offset-default-label", SEED, partial(run, size))]
