"""Invalid schemas: every problem at once, each with file, line and column, and never anything but a SchemaError."""

from __future__ import annotations

import contextlib
import random
import re
from pathlib import Path

import pytest

from aerowire.codegen.load import load_project
from aerowire.codegen.problems import Location, Problem, SchemaError
from aerowire.codegen.registry import render_all
from aerowire.codegen.sources import Source, default_spec

HEAD = """<?xml version="1.0"?>
<sbe:messageSchema xmlns:sbe="http://fixprotocol.io/2016/sbe" xmlns:aw="urn:aerowire:layout" package="p" id="1" description="d">
"""
MUTATIONS = 150


def problems_of(tmp_path: Path, text: str, name: str = "s.xml") -> list[str]:
    (tmp_path / name).write_text(text)
    with pytest.raises(SchemaError) as caught:
        load_project([Source(tmp_path / name, name)])
    return [str(problem) for problem in caught.value.problems]


def layout_problems(tmp_path: Path, body: str) -> list[str]:
    return problems_of(tmp_path, f"{HEAD}{body}\n</sbe:messageSchema>\n")


def test_every_problem_of_a_layout_is_reported_at_its_place(tmp_path: Path) -> None:
    body = """  <aw:constant name="lower" type="int32" value="1" description="x"/>
  <types><enum name="Kind" encodingType="int8"><validValue name="A">300</validValue><validValue name="B">x</validValue></enum></types>
  <aw:struct name="S" description="s">
    <aw:field name="a" type="int32" offset="0" description="a"/>
    <aw:field name="b" type="int32" offset="2" description="b"/><aw:field name="a" type="nope" description="c"/>
    <aw:var name="v" length="zz" description="v"/>
    <aw:field name="after" type="int32" offset="40" description="c" bogus="1"/>
    <aw:repeat name="r" struct="Missing" description="r"/>
  </aw:struct>
  <aw:struct name="T" extends="U" description="s"/>
  <aw:variant name="Va" on="S.q" description="d"/>
  <aw:region name="R" fields="Q" description="d"><aw:section name="x" description="s"/></aw:region>"""
    assert layout_problems(tmp_path, body) == [
        "s.xml:3:3: error: name 'lower' must be in UPPER_CASE",
        "s.xml:4:48: error: value of 'A' 300 does not fit int8 (-128 to 127)",
        "s.xml:4:85: error: value of 'B' must be an integer, found 'x'",
        "s.xml:7:5: error: field 'b' at 2 to 6 overlaps 'a'",
        "s.xml:7:65: error: name 'a' stands twice in the struct",
        "s.xml:7:65: error: type 'nope' is neither a primitive nor an enum or set of this file",
        "s.xml:8:5: error: length names 'zz', which is no integer field before it",
        "s.xml:9:5: error: Element 'field', attribute 'bogus': The attribute 'bogus' is not allowed.",
        "s.xml:9:5: error: field 'after' follows 'v', whose end is not fixed",
        "s.xml:10:5: error: 'r' needs either count or until",
        "s.xml:10:5: error: struct 'Missing' is not declared in this file",
        "s.xml:12:3: error: extends 'U', which is no struct of this file or extends this one",
        "s.xml:13:3: error: on names 'S.q', which is no field of a struct of this file",
        "s.xml:14:3: error: fields names 'Q', which is no struct of this file",
        "s.xml:14:50: error: section 'x' needs constant, field or struct",
    ]


FIELD = '<aw:field name="a" type="int32" offset="0" description="a"/>'


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ('<aw:struct name="S" description="s"><aw:field name="a" type="int32" offset="1048573" description="a"/></aw:struct>',
         "error: struct 'S' ends at 1048577; a struct has 1048576 bytes at most"),
        (f'<aw:struct name="S" length="2" description="s">{FIELD}</aw:struct>', "3:1: error: length 2 is less than its members need"),
        (f'<aw:struct name="S" description="s">{FIELD}<aw:var name="v" offset="3" length="a" description="v"/></aw:struct>',
         "error: 'v' at 3 falls into the fixed part, which ends at 4"),
        (f'<aw:struct name="S" description="s">{FIELD}<aw:var name="v" length="rest" description="v"/>'
         '<aw:var name="w" lengthType="int32" description="v"/></aw:struct>', "'w' follows 'v', which takes all that is left"),
        ('<aw:struct name="S" description="s"><aw:field name="a" type="int32" description="a">'
         '<aw:bits name="x" low="30" high="32" type="int8" description="d"/></aw:field></aw:struct>',
         "bits 30 to 32 do not lie within int32"),
        ('<aw:struct name="S" description="s"><aw:field name="class" type="int32" description="a"/></aw:struct>',
         "member 'class' of S is a word of Python"),
        ('<aw:struct name="S" description="s"><aw:field name="limit" type="int32" description="a"/></aw:struct>',
         "member 'limit' of S is a name that generated code uses itself"),
        (f'<aw:struct name="V" description="s">{FIELD}<aw:var name="v" length="a" description="v"/></aw:struct>'
         f'<aw:struct name="S" description="s">{FIELD}<aw:variant name="k" on="a" description="d">'
         '<aw:case value="1" struct="V"/></aw:variant></aw:struct>', "variant 'k' needs structs of fixed length, and V varies"),
        (f'<aw:constant name="S_LENGTH" type="int32" value="1" description="d"/><aw:struct name="S" description="s">{FIELD}</aw:struct>',
         "S and S_LENGTH both make the constant S_LENGTH"),
        (f'<aw:struct name="S" description="s">{FIELD}</aw:struct><aw:struct name="S" description="s">{FIELD}</aw:struct>',
         "name 'S' is taken by line 3"),
        ('<aw:struct name="A" extends="B" description="s"/><aw:struct name="B" extends="A" description="s"/>', "extends 'B'"),
        (f'<aw:struct name="S" description="s">{FIELD}<aw:variant name="k" on="a" description="d"><aw:case value="1"/></aw:variant>'
         "</aw:struct>", "case '1' needs either struct or length"),
        (f'<aw:struct name="S" description="s">{FIELD}<aw:variant name="k" on="a" length="8" table="counters" description="d"/>'
         "</aw:struct>",
         "no counters.xml beside this file"),
        ('<aw:struct name="S" description="s"><aw:field name="a" type="int32" count="0" description="a"/></aw:struct>',
         "error: count 0 is less than 1"),
        ('<aw:struct name="S" description="s"><aw:field name="a" type="int32" count="2" default="7" description="a"/></aw:struct>',
         "error: an array has no default"),
        (f'<aw:struct name="S" align="3" description="s">{FIELD}</aw:struct>', "error: align 3 is no power of two"),
        (f'<aw:struct name="S" length="-1" description="s">{FIELD}</aw:struct>', "error: length -1 is less than 0"),
        ('<types><set name="F" encodingType="int32"><choice name="A">0</choice></set></types>'
         f'<aw:struct name="P" description="s">{FIELD}</aw:struct><aw:struct name="S" extends="P" description="s">'
         '<aw:refine field="a" type="F" default="0x80000000"/></aw:struct>', "error: default 2147483648 does not fit int32"),
        (f'<aw:struct name="S" description="s">{FIELD}<aw:var name="v" lengthType="double" description="v"/></aw:struct>',
         "error: lengthType 'double' is no integer"),
        ('<aw:struct name="S" description="s"><aw:field name="a" type="int32" role="length" description="a"/>'
         '<aw:field name="b" type="int32" role="length" description="a"/></aw:struct>', "error: role 'length' is that of 'a' already"),
        ('<aw:struct name="S" description="s"><aw:field name="a" type="int32" count="3" role="type" description="a"/></aw:struct>',
         "error: role 'type' needs one integer"),
        (f'<aw:struct name="S" description="s">{FIELD}<aw:field name="t" type="int32" presence="tail" description="a"/>'
         '<aw:field name="b" type="int32" description="a"/></aw:struct>', "field 'b' follows 't', which is not always there"),
        (f'<aw:struct name="S" description="s">{FIELD}<aw:field name="t" type="int32" presence="tail" description="a"/>'
         '<aw:var name="v" length="a" description="v"/></aw:struct>', "'v' follows 't', which is not always there"),
        (f'<aw:struct name="S" description="s">{FIELD}<aw:repeat name="r" struct="S" until="end" description="r"/>'
         '<aw:var name="v" length="a" description="v"/></aw:struct>', "'v' follows 'r', which takes all that is left"),
        ('<aw:struct name="E" description="e"/><aw:struct name="S" description="s"><aw:repeat name="r" struct="E" until="end" '
         'description="r"/></aw:struct>', "'r' repeats 'E', whose fixed part is empty: there would be no end"),
        (f'<aw:struct name="S" description="s">{FIELD}<aw:repeat name="r" struct="S" count="0" description="r"/></aw:struct>',
         "error: count 0 is less than 1"),
        (f'<aw:struct name="S" description="s">{FIELD}<aw:repeat name="r" struct="S" count="b" description="r"/></aw:struct>',
         "error: count names 'b', which is no integer field before it"),
        (f'<aw:struct name="S" description="s">{FIELD}<aw:repeat name="r" struct="S" count="MANY" description="r"/></aw:struct>',
         "error: count names 'MANY', which is no integer constant of this file"),
        (f'<aw:struct name="S" description="s">{FIELD}<aw:variant name="k" on="a" length="8" description="d">'
         '<aw:case value="1" length="-3"/></aw:variant></aw:struct>', "error: length -3 is less than 0"),
        ('<aw:region name="R" description="s"><aw:section name="a" field="n" times="-1" description="x"/></aw:region>',
         "error: times -1 is less than 1"),
    ],
)  # fmt: skip
def test_each_rule_of_a_layout_is_checked(tmp_path: Path, body: str, expected: str) -> None:
    assert any(expected in problem for problem in layout_problems(tmp_path, body))


OPTION = '<option name="{0}" property="aeron.{0}" environment="{1}" kind="{2}" {3} scope="driver">Text.</option>'


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        (OPTION.format("a", "A", "int", 'default="x"'), "o.xml:1:58: error: default 'x' is no int"),
        (OPTION.format("a", "A", "bool", 'default="yes"'), "default 'yes' is no bool"),
        (OPTION.format("a", "A", "enum", 'choices="x y" default="z"'), "default 'z' is none of x, y"),
        (OPTION.format("a", "A", "int", 'default-of="b"'), "default-of names 'b'"),
        (OPTION.format("a", "A", "int", "") + OPTION.format("a", "B", "int", ""), "name 'a' is taken by line 1"),
        (OPTION.format("a", "A", "wrong", ""), "kind"),
    ],
)
def test_each_rule_of_options_is_checked(tmp_path: Path, rows: str, expected: str) -> None:
    text = f'<options xmlns="urn:aerowire:tables" description="Text.">{rows}</options>'
    assert any(expected in problem for problem in problems_of(tmp_path, text, "o.xml"))


@pytest.mark.parametrize(
    ("label", "expected"),
    [("x {nope}", "uses 'nope', which is no field"), ("x {a} {a}", "uses 'a' twice"), ("x {a", "expected '}' before end of string")],
)
def test_each_rule_of_labels_is_checked(tmp_path: Path, label: str, expected: str) -> None:
    text = (
        '<counters xmlns="urn:aerowire:tables" description="Text."><fields><field name="a" kind="int">A.</field></fields>'
        '<system><counter id="0" name="A" label="A">A.</counter></system>'
        f'<types><type id="1" name="A" label="{label}">A.</type></types></counters>'
    )
    assert any(expected in problem for problem in problems_of(tmp_path, text, "c.xml"))


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"<a><b></a>", "x.xml:1:9: error: mismatched tag"),
        (b"", "x.xml:1:1: error: no element found"),
        (b"<a/>", "x.xml:1:1: error: root element 'a' is no schema"),
        (b'<?xml version="1.0" encoding="nope"?><a/>', "x.xml:1:1: error: cannot be decoded: unknown encoding"),
        (b'<!DOCTYPE a [<!ENTITY x SYSTEM "/etc/hostname">]><a>&x;</a>', "x.xml:1:13: error: has a DOCTYPE"),
        (b"\xff\xfe\x00", "x.xml:1:1: error: cannot be decoded: 'utf-16-le' codec"),
    ],
)
def test_what_is_no_xml_or_no_schema_is_located(tmp_path: Path, data: bytes, expected: str) -> None:
    (tmp_path / "x.xml").write_bytes(data)
    with pytest.raises(SchemaError) as caught:
        load_project([Source(tmp_path / "x.xml", "x.xml")])
    assert str(caught.value).startswith(expected)


@pytest.mark.parametrize(
    "text",
    [
        f'{HEAD}\n<aw:struct name="%s" description="s"/></sbe:messageSchema>',
        '<options xmlns="urn:aerowire:tables" description="Text.">\n\n<option name="%s"/></options>',
        '<messageSchema xmlns="http://fixprotocol.io/2016/sbe" package="p" id="1">\n\n<message name="%s" id="1"/></messageSchema>',
    ],
    ids=["layout", "table", "messages"],
)
def test_a_name_that_is_too_long_is_refused_in_every_kind_of_schema(tmp_path: Path, text: str) -> None:
    told = problems_of(tmp_path, text % ("x" * 1025))
    assert len(told) == 1
    assert re.fullmatch(r"s\.xml:[34]:\d+: error: name of \w+ has 1025 characters; expected at most 1024 \(name-too-long\)", told[0])
    assert not any("name-too-long" in one for one in problems_of(tmp_path, text % ("x" * 1024)))


WRONG = 'x=""'


def fields(count: int, more: str = "") -> str:
    return "".join(f'<aw:field name="f{index}" type="int8" description="f" {more}/>' for index in range(count))


def extending(count: int) -> str:
    """Structs that each extend the next, the last one first in what they inherit."""
    middle = "".join(f'<aw:struct name="A{index}" extends="A{index + 1}" description="s"/>' for index in range(count))
    return f'{middle}<aw:struct name="A{count}" description="s"/>'


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (
            f'<aw:struct name="S" description="s">{fields(1001)}</aw:struct>',
            "struct 'S' has more than 1000 members, inherited ones counted",
        ),
        (
            f'<aw:struct name="P" description="s">{fields(900)}</aw:struct>'
            + "".join(f'<aw:struct name="S{index}" extends="P" description="s"/>' for index in range(30)),
            "the structs have more than 20000 members in all, inherited ones counted",
        ),
        (f'<aw:struct name="S" description="s">{fields(1_100, WRONG)}</aw:struct>', "left out"),
        (fields(10_001), "error: the file has 10002 elements; expected at most 10000"),
        (
            '<types><set name="F" encodingType="uint64"><choice name="A0">0</choice>'
            + "".join(f'<choice name="A{index}">{index}</choice>' for index in range(1, 64))
            + '<aw:combination name="C" description="d" choices="NONE"/></set></types>',
            f"which is none of {', '.join(f'A{index}' for index in range(20))} and 44 more",
        ),
        (f'<aw:constant name="C" type="int32" value="0x{"F" * 5_000}" description="d"/>', "value must be an integer, found '0xFFF"),
    ],
    ids=["members", "inherited members", "XSD problems", "elements", "choices", "hexadecimal digits"],
)
def test_a_layout_out_of_all_proportion_is_refused_with_few_words(tmp_path: Path, body: str, expected: str) -> None:
    told = layout_problems(tmp_path, body)
    assert any(expected in problem for problem in told)
    assert len(told) < 1_010


def test_structs_may_extend_what_follows_them(tmp_path: Path) -> None:
    (tmp_path / "s.xml").write_text(f"{HEAD}{extending(4_000)}</sbe:messageSchema>")
    (schema,) = load_project([Source(tmp_path / "s.xml", "s.xml")]).schemas
    assert [struct.parent for struct in schema.structs] == [*(f"A{index}" for index in range(1, 4_001)), None]


def test_a_format_that_uses_a_field_again_and_again_is_told_once(tmp_path: Path) -> None:
    text = (
        '<counters xmlns="urn:aerowire:tables" description="Text."><fields><field name="a" kind="int">A.</field></fields>'
        f'<system/><types><type id="1" name="A" label="{"{a}" * 40_000}">A.</type></types></counters>'
    )
    told = problems_of(tmp_path, text, "c.xml")
    assert [one for one in told if "twice" in one] == ["c.xml:1:129: error: the format uses 'a' twice"]


def test_problems_of_several_files_come_together(tmp_path: Path) -> None:
    (tmp_path / "a.xml").write_text("<a>")
    (tmp_path / "b.xml").write_text("<b/>")
    sources = [Source(tmp_path / name, name) for name in ("b.xml", "a.xml", "c.xml")]
    with pytest.raises(SchemaError) as caught:
        load_project(sources)
    assert [problem.location.file for problem in caught.value.problems] == ["a.xml", "b.xml", "c.xml"]


def test_no_edit_of_a_schema_makes_the_pipeline_fail_otherwise(tmp_path: Path, seed: int) -> None:
    """Schemas with bytes swapped, attributes dropped and numbers changed are rendered or refused."""
    chance = random.Random(seed)
    (tmp_path / "counters.xml").write_bytes((default_spec() / "counters.xml").read_bytes())
    texts = {path.name: path.read_text() for path in default_spec().glob("*.xml") if path.name != "counters.xml"}
    for _ in range(MUTATIONS):
        name = chance.choice(sorted(texts))
        words = texts[name].split('"')
        for _ in range(chance.randint(1, 3)):
            other = words[chance.randrange(len(words))]
            words[chance.randrange(len(words))] = chance.choice(["", "0", "-1", "9" * 21, "rest", "S", "a b", "<", other])
        path = tmp_path / name
        path.write_text('"'.join(words))
        with contextlib.suppress(SchemaError):
            render_all(load_project([Source(path, name)]))


@pytest.mark.parametrize("attribute", ["id", "version"])
def test_a_schema_whose_number_is_a_word_is_refused(tmp_path: Path, attribute: str) -> None:
    text = (default_spec() / "logbuffer.xml").read_text()
    (tmp_path / "logbuffer.xml").write_text(re.sub(rf' {attribute}="\d+"', f' {attribute}="one"', text, count=1))
    (tmp_path / "counters.xml").write_bytes((default_spec() / "counters.xml").read_bytes())
    with pytest.raises(SchemaError, match="one"):
        load_project([Source(tmp_path / "logbuffer.xml", "logbuffer.xml")])


def test_text_of_a_schema_cannot_control_a_terminal_or_forge_a_line() -> None:
    problem = Problem(Location("a\nb.xml", 1, 2), "type '\x1b[2J\u202e\r\n': unknown")
    assert str(SchemaError([problem])) == r"a\nb.xml:1:2: error: type '\x1b[2J\u202e\r\n': unknown"


def test_an_element_whose_prefix_is_declared_below_the_root_is_a_problem_at_its_line(tmp_path: Path) -> None:
    file = tmp_path / "schema.xml"
    text = (default_spec() / "files.xml").read_text().replace("</types>", '\n<x:y xmlns:x="urn:x"/></types>', 1)
    file.write_text(text)
    with pytest.raises(SchemaError) as caught:
        load_project([Source(file, "schema.xml")])
    line = text[: text.index("<x:y")].count("\n") + 1
    assert line in {problem.location.line for problem in caught.value.problems}
