"""Message schemas with something changed in them: each is read, or what is wrong with it is told, and nothing else happens."""

from __future__ import annotations

import copy
import random
from dataclasses import dataclass
from pathlib import Path

from lxml import etree

from aerowire.codegen.sbe.reader import Reading, ReadOptions, read_message_schema
from aerowire.codegen.snippets import Snippets

SCHEMAS = Path(__file__).with_name("schemas")
TAGS = ("type", "composite", "enum", "set", "ref", "data", "group", "field", "message", "validValue", "choice", "types", "other")
ATTRIBUTES = (
    "name", "id", "type", "primitiveType", "length", "presence", "offset", "sinceVersion", "deprecated", "nullValue", "minValue",
    "maxValue", "valueRef", "encodingType", "dimensionType", "blockLength", "characterEncoding", "semanticType", "version",
    "package", "headerType", "byteOrder", "variableLength",
)  # fmt: skip
VALUES = (
    "", "0", "1", "2", "-1", " 3", "255", "65535", "4294967295", "2147483648", "9" * 5_000, "1.5", "NaN", "abc", "x.y", ".", "é", "a b",
    "\U0001f600", "int8", "uint8", "uint32", "uint64", "char", "float", "constant", "optional", "bigEndian", "messageHeader", "x" * 300,
)  # fmt: skip
BYTES = tuple(b'<|>|&|"|\0|\xff|\xed\xa0\x80|]]>|<!--|<![CDATA[|<?|&#0;|&lt;|<a>|</types>'.split(b"|"))


@dataclass
class Told:
    """How many mutations were still schemas, how many were told not to be any, and with how many problems."""

    schemas: int = 0
    refused: int = 0
    problems: int = 0


def mutated(seed: int, count: int, scratch: Path) -> Told:
    """Try so many mutations.  Raises AssertionError, or what reading raised, with the seed and the file's text."""
    chance = random.Random(seed)
    sources = [path.read_bytes() for path in sorted(SCHEMAS.glob("*.xml"))]
    file = scratch / "mutated.xml"
    told = Told()
    for index in range(count):
        source = chance.choice(sources)
        text = _change_bytes(source, chance) if chance.random() < 0.25 else change_tree(source, chance)
        file.write_bytes(text)
        try:
            lenient = chance.random() < 0.2
            reading = read_message_schema(file, "mutated.xml", ReadOptions(lenient=lenient))
            _check(reading, text, told)
            everything = read_message_schema(file, "mutated.xml", ReadOptions(lenient=lenient, all_steps=True))
            _check(everything, text, Told())
            less = {one for one in reading.problems if one.rule != "newer-than-schema"} - set(everything.problems)
            assert not less, f"not told when all is wanted: {less}"
            assert everything.unchecked == ()
        except Exception as error:
            error.add_note(f"seed {seed}, mutation {index}, schema {text!r}")
            raise
    return told


def _check(reading: Reading, text: bytes, told: Told) -> None:
    errors = [problem for problem in reading.problems if problem.is_error]
    assert (reading.schema is None) == bool(errors), "a schema without errors, or errors without a schema"
    snippets = Snippets(reading.texts)
    line_count = text.replace(b"\r\n", b"\n").replace(b"\r", b"\n").count(b"\n") + 1
    for problem in reading.problems:
        assert problem.rule, problem
        assert problem.location.file == "mutated.xml"
        assert 0 < problem.location.line <= line_count, problem
        assert problem.location.column > 0
        shown = snippets.show(problem).split("\n")
        assert len(shown) in (1, 3), shown
    told.schemas += reading.schema is not None
    told.refused += reading.schema is None
    told.problems += len(reading.problems)


def _change_bytes(source: bytes, chance: random.Random) -> bytes:
    out = bytearray(source)
    for _ in range(chance.choice((1, 1, 2, 5))):
        at = chance.randrange(len(out) + 1)
        match chance.randrange(4):
            case 0:
                out[at:at] = chance.choice(BYTES)
            case 1:
                out[at : at + 1] = chance.randbytes(1)
            case 2:
                del out[at : at + chance.choice((1, 5, 100))]
            case _:
                start = chance.randrange(len(source))
                out[at:at] = source[start : start + chance.choice((5, 50, 500))]
    return bytes(out)


def change_tree(source: bytes, chance: random.Random) -> bytes:
    """Return the schema with a few elements or attributes changed, well-formed still."""
    root = etree.fromstring(source)
    for _ in range(chance.choice((1, 1, 1, 2, 4))):
        found = list(root.iter(etree.Element))
        _change_element(chance.choice(found), found, chance)
    return etree.tostring(root, encoding="utf-8", xml_declaration=True)


def _change_element(element: etree._Element, found: list[etree._Element], chance: random.Random) -> None:
    parent = element.getparent()
    attributes = list(element.attrib)
    kind = chance.random()
    if kind < 0.15 and attributes:
        del element.attrib[chance.choice(attributes)]
    elif kind < 0.5:
        name = chance.choice(attributes) if attributes and chance.random() < 0.7 else chance.choice(ATTRIBUTES)
        element.set(name, _value(found, chance))
    elif kind < 0.6:
        holders = [one for one in found if one.text and one.text.strip()]
        chance.choice(holders or [element]).text = _value(found, chance)
    elif parent is None:
        return
    elif kind < 0.7:
        parent.remove(element)
    elif kind < 0.8:
        element.tag = chance.choice(TAGS)
    else:
        target = parent if kind < 0.9 else chance.choice(found)
        target.insert(chance.randrange(len(target) + 1), copy.deepcopy(element))


def _value(found: list[etree._Element], chance: random.Random) -> str:
    """An edge, or what another element has, so that references are to something."""
    if chance.random() < 0.5:
        return chance.choice(VALUES)
    values = [str(value) for value in chance.choice(found).attrib.values()]
    return chance.choice(values or list(VALUES))
