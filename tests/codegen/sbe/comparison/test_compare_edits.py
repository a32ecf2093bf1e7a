"""Schemas edited at random: whom `codegen compare` does not warn reads what the other wrote.  And Aeron's schemas, which only ever grew."""

from __future__ import annotations

import copy
import random
from itertools import combinations
from pathlib import Path

import pytest
from lxml import etree

from aerowire.codegen.sbe.comparison import Side, compare_schemas
from aerowire.codegen.sbe.reader import ReadOptions, load_message_schema, read_message_schema
from aerowire.codegen.sources import default_spec
from tests.codegen.sbe.crossing import check_reader

SHOP = Path(__file__).parents[1] / "schemas" / "shop.xml"
EDITED = 150
PRIMITIVES = ("char", "int8", "int16", "int32", "uint8", "uint16", "uint32")
TYPES = (*PRIMITIVES, "Size", "Flags", "Code", "Count", "Price", "Total")
NUMBERS = ("0", "1", "2", "3", "4", "8", "16", "24", "40", "255")
ATTRIBUTES = {
    "type": TYPES,
    "primitiveType": PRIMITIVES,
    "encodingType": PRIMITIVES,
    "presence": ("optional", "required"),
    "name": ("n1", "n2", "n3"),
    **dict.fromkeys(("offset", "sinceVersion", "nullValue", "length", "blockLength", "id", "maxValue"), NUMBERS),
}


def edit(root: etree._Element, chance: random.Random) -> None:
    """Drop, double, move or change one declaration that is not the message header's."""
    elements = [one for one in root.iter(etree.Element) if one is not root and one.tag != "types"]
    one = chance.choice([one for one in elements if not one.xpath("ancestor-or-self::*[@name='messageHeader']")])
    parent = one.getparent()
    assert parent is not None
    kind = chance.choice(("drop", "double", "move", "change", "change", "change", "change"))
    if kind == "drop":
        parent.remove(one)
    elif kind == "double":
        parent.insert(parent.index(one) + chance.choice((0, 1)), renamed(one, chance))
    elif kind == "move":
        parent.insert(chance.randrange(len(parent)), one)
    else:
        name = chance.choice(sorted(ATTRIBUTES))
        if one.get(name) is not None or chance.random() < 0.3:
            one.set(name, chance.choice(ATTRIBUTES[name]))
        elif one.text and one.text.strip():
            one.text = chance.choice(NUMBERS)


def renamed(one: etree._Element, chance: random.Random) -> etree._Element:
    """A copy with names, ids and numbers of its own, and mostly with the version that it is new in."""
    other = copy.deepcopy(one)
    for part in other.iter(etree.Element):
        if part.get("name") is not None:
            part.set("name", f"{part.get('name')}X")
        if part.get("id") is not None:
            part.set("id", f"{int(part.get('id', '0')) + 100}")
        if part.tag in ("validValue", "choice"):
            part.text = str(chance.randrange(8))
    if chance.random() < 0.7:
        other.set("sinceVersion", "4")
    return other


def test_whoever_is_not_warned_reads_what_was_written(tmp_path: Path, seed: int) -> None:
    old, path, checked = load_message_schema(SHOP), tmp_path / "new.xml", dict.fromkeys(Side, 0)
    for number in range(EDITED):
        chance = random.Random(f"{seed} {number}")
        root = etree.parse(SHOP).getroot()
        root.set("version", chance.choice("4443"))
        for _ in range(chance.choice((1, 1, 2, 3))):
            edit(root, chance)
        path.write_bytes(etree.tostring(root))
        new = read_message_schema(path).schema
        if new is None:
            continue
        comparison = compare_schemas(old, new)
        assert bool(compare_schemas(new, old).changes) == bool(comparison.changes)
        for side in Side:
            if not comparison.breaking(side):
                check_reader(comparison, side)
                checked[side] += 1
    assert min(checked.values()) > EDITED // 4


@pytest.mark.parametrize("name", ["archive", "archive_mark", "cluster", "cluster_mark"])
def test_no_version_of_aerons_schemas_breaks_another(name: str) -> None:
    path = default_spec() / f"{name}.xml"
    versions = range(load_message_schema(path).version + 1)
    schemas = [load_message_schema(path, options=ReadOptions(since_version=version)) for version in versions]
    grown = 0
    for old, new in combinations(schemas, 2):
        comparison = compare_schemas(old, new)
        assert [str(change) for change in comparison.changes if change.breaks] == []
        grown += any(change.kind != "version-raised" for change in comparison.changes)
    assert grown > 0
