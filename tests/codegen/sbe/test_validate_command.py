"""`codegen validate`: what it prints, its exit codes, and that nothing that a file holds makes it fail otherwise."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from aerowire.codegen.document import Document
from aerowire.codegen.main import main
from aerowire.codegen.problems import Location
from aerowire.codegen.sbe.reader import report, types
from tests.codegen.sbe.writing import HEADER, schema

WARNED = '<type name="T" primitiveType="uint8" nullValue="1"/>'
NULL = '<enum name="E" encodingType="uint8">\n\t<validValue name="A">255</validValue></enum>'
MESSAGE = '<message name="M" id="1"/>'
INCLUDE = 'xmlns:xi="http://www.w3.org/2001/XInclude"'


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def write(name: str, text: str | bytes) -> str:
    Path(name).write_bytes(text if isinstance(text, bytes) else text.encode())
    return name


def validate(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    code = main(["validate", *arguments])
    captured = capsys.readouterr()
    assert captured.err == ""
    return code, captured.out


def test_shows_the_source_line_and_a_caret(capsys: pytest.CaptureFixture[str]) -> None:
    name = write("own.xml", schema(NULL, MESSAGE))
    assert validate(capsys, name) == (
        1,
        "own.xml:15:2: error: enum 'E': value 'A' is 255, which is the null value (value-is-null)\n"
        '        <validValue name="A">255</validValue></enum>\n'
        "        ^\n"
        "own.xml: messages, header and versions were not checked, because the types have errors; --all checks them too\n"
        "1 error, 0 warnings in 1 file\n",
    )


def test_cuts_a_long_line_around_the_caret(capsys: pytest.CaptureFixture[str]) -> None:
    name = write("own.xml", schema("", f'<message name="M" id="1">{" " * 500}<field name="é" id="1" type="Nope"/></message>{" " * 500}'))
    code, out = validate(capsys, name)
    line, caret = out.splitlines()[1:3]
    assert (code, len(line)) == (1, 4 + 120 + 6)
    assert line.strip().startswith("...")
    assert line[caret.index("^") :].startswith('type="Nope"')


def test_measures_wide_characters_and_hides_controls(capsys: pytest.CaptureFixture[str]) -> None:
    name = write("own.xml", schema("", '<message name="中文" id="1"><field name="a&#x9b;" id="1" type="\u0086N"/></message>'))
    out = validate(capsys, name)[1]
    first, line, caret = out.splitlines()[:3]
    assert first == "own.xml:16:56: error: type '\\x86N' of field 'a\\x9b' is unknown (unknown-type)"
    assert caret.index("^") == line.index("type=") + 2


def test_exit_codes_and_the_closing_line(capsys: pytest.CaptureFixture[str]) -> None:
    good, warned, bad = (
        write("good.xml", schema("", MESSAGE)),
        write("warned.xml", schema(WARNED, MESSAGE)),
        write("bad.xml", schema(NULL, MESSAGE)),
    )
    broken = write("broken.xml", "<a>")
    assert validate(capsys, good) == (0, "0 errors, 0 warnings in 1 file\n")
    assert validate(capsys, warned)[0] == 0
    assert validate(capsys, "--warnings-as-errors", warned)[0] == 1
    assert validate(capsys, good, bad)[0] == 1
    assert validate(capsys, "--lenient", bad)[0] == 0
    assert validate(capsys, bad, broken)[0] == 2
    code, out = validate(capsys, warned, "missing.xml", bad)
    assert code == 2
    assert "missing.xml:1:1: error: cannot be read: No such file or directory (unreadable)\n" in out
    assert out.endswith("2 errors, 1 warning in 3 files\n")


def test_json_has_an_object_for_each_file(capsys: pytest.CaptureFixture[str]) -> None:
    names = [write("good.xml", schema("", MESSAGE)), write("bad.xml", schema(WARNED + NULL, MESSAGE)), write("broken.xml", "<a>")]
    code, out = validate(capsys, "--json", *names)
    good, bad, broken = (json.loads(line) for line in out.splitlines())
    assert code == 2
    assert good == {"file": "good.xml", "verdict": "valid", "errors": 0, "warnings": 0, "notes": 0, "unchecked": [], "problems": []}
    assert (bad["verdict"], bad["errors"], bad["warnings"]) == ("invalid", 1, 1)
    assert bad["unchecked"] == ["messages", "header", "code"]
    assert bad["problems"][1] == {
        "file": "bad.xml",
        "line": 15,
        "column": 2,
        "severity": "error",
        "rule": "value-is-null",
        "message": "enum 'E': value 'A' is 255, which is the null value",
    }
    assert broken["verdict"] == "unreadable"


ERRORS_OF_EACH_STEP = (
    schema(
        '<type name="Odd" primitiveType="uint7"/><composite name="Dim"><type name="blockLength" primitiveType="uint7"/></composite>'
        '<enum name="E" encodingType="uint8"><validValue name="A">x</validValue></enum>'
        '<type name="Long" primitiveType="int8" length="-1"/>',
        '<message name="M" id="1"><field name="a" id="1" type="Odd"/><field name="a" id="2" type="Long"/>'
        '<field name="c" id="3" type="E" presence="constant" valueRef="E.A"/><field name="d" id="4" type="Old"/>'
        '<group name="g" id="9" dimensionType="Dim"/></message>',
        'version="-1" byteOrder="middle"',
    )
    .replace('id="1" ', 'id="x" ', 1)
    .replace('<type name="blockLength" primitiveType="uint16"/>', '<type name="blockLength" primitiveType="int16"/>', 1)
    .replace('<type name="version" primitiveType="uint16"/>', "")
)


def test_all_goes_on_behind_errors_and_tells_nothing_that_follows_from_them(capsys: pytest.CaptureFixture[str]) -> None:
    name = write("own.xml", ERRORS_OF_EACH_STEP)
    code, out = validate(capsys, "--all", name)
    told = [line.partition("error: ")[2] for line in out.splitlines() if ": error: " in line]
    assert code == 1
    assert sorted(told) == [
        "composite 'Dim' of group 'g' lacks 'numInGroup' (bad-dimension)",
        "composite 'messageHeader' of messageSchema has blockLength of int16, which is not unsigned (bad-header)",
        "composite 'messageHeader' of messageSchema lacks 'version' (bad-header)",
        "field 'a' has the name of an earlier one (duplicate-field)",
        "id of messageSchema: 'x' is no number (bad-number)",
        "primitiveType 'uint7' of type 'Odd' is no primitive; did you mean \"uint8\"? (unknown-primitive)",
        "primitiveType 'uint7' of type 'blockLength' is no primitive; did you mean \"uint8\"? (unknown-primitive)",
        "type 'Long' has length -1; expected at least 0, and at most 16777216 bytes (bad-length)",
        "type 'Old' of field 'd' is unknown (unknown-type)",
        "value of validValue 'A': 'x' is no number (bad-number)",
        "version of messageSchema: -1 is negative (bad-number)",
    ]
    assert "own.xml:2:97: note: byteOrder 'middle' is neither of littleEndian, bigEndian" in out
    assert "not checked" not in out


def test_step_with_errors_is_the_last_one_and_what_is_left_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    types, field = '<type name="Odd" primitiveType="{}"/>', '<message name="M" id="1"><field name="a" id="1" type="{}"/></message>'
    variable = '<type name="Many" primitiveType="uint8" variableLength="true"/>'
    cases = (
        (schema("", '<xi:include href="own.xml"/>', INCLUDE), "types, messages, header and versions were", "an include has"),
        (schema(types.format("uint7"), field.format("Odd")), "messages, header and versions were", "the types have"),
        (schema(types.format("uint8"), field.format("Old")), "header and versions were", "the messages have"),
        (schema(variable, field.format("Many"), 'version="x"'), "whether code can be made of it was", "header or versions have"),
    )
    for text, left, cause in cases:
        name = write("own.xml", text)
        code, out = validate(capsys, name)
        assert (code, f"own.xml: {left} not checked, because {cause} errors; --all checks th" in out) == (1, True), out
        assert "not checked" not in validate(capsys, "--all", name)[1]
    assert "(variable-field)" not in out
    assert "(variable-field)" in validate(capsys, "--all", name)[1]


def test_what_an_unreadable_include_may_have_is_not_missed(capsys: pytest.CaptureFixture[str]) -> None:
    fields = '<field name="a" id="1" type="There"/><field name="a" id="2" type="uint8"/>'
    name = write("own.xml", schema("", f'<xi:include href="nope.xml"/><message name="M" id="1">{fields}</message>', INCLUDE))
    code, out = validate(capsys, "--all", name)
    told = re.findall(r"\((\S+)\)$", out, re.MULTILINE)
    assert (code, told) == (2, ["unreadable", "duplicate-field"])
    write("nope.xml", "<types>")
    assert validate(capsys, name)[0] == 2
    write("nope.xml", '<types><type name="There" primitiveType="uint8"/></types>')
    assert validate(capsys, name)[0] == 1


def test_misspelt_names_are_noted_and_count_nowhere(capsys: pytest.CaptureFixture[str]) -> None:
    name = write(
        "own.xml",
        schema(
            '<type name="T" primitiveType="uint8" lenght="2" vendor="x" fixVersion="4" x:presense="no" xmlns:x="urn:x"/>',
            '<sbe:mesage name="N" id="2"><feild name="a" id="1"/></sbe:mesage><message name="M" id="1">'
            '<field name="f" id="1" type="T" presense="optional" sinceVersoin="0" presence="required"/><note/></message>',
        ),
    )
    code, out = validate(capsys, "--warnings-as-errors", name)
    assert code == 0
    assert [line for line in out.splitlines() if not line.startswith("    ")] == [
        "own.xml:14:38: note: unknown attribute 'lenght'; did you mean 'length'? (unknown-attribute)",
        "own.xml:16:1: note: unknown element 'mesage'; did you mean 'message'? (unknown-element)",
        "own.xml:16:29: note: unknown element 'feild'; did you mean 'field'? (unknown-element)",
        "own.xml:16:143: note: unknown attribute 'sinceVersoin'; did you mean 'sinceVersion'? (unknown-attribute)",
        "0 errors, 0 warnings, 4 notes in 1 file",
    ]
    found = json.loads(validate(capsys, "--json", name)[1])
    assert (found["verdict"], found["errors"], found["warnings"], found["notes"]) == ("valid", 0, 0, 4)
    assert {problem["severity"] for problem in found["problems"]} == {"note"}


def test_notes_have_an_end(capsys: pytest.CaptureFixture[str]) -> None:
    fields = "".join(f'<field name="f{id}" id="{id}" type="uint8" presense{id % 7}="x"/>' for id in range(5_000))
    out = validate(capsys, write("own.xml", schema("", f'<message name="M" id="1">{fields}</message>')))[1]
    assert out.endswith("\n0 errors, 0 warnings, 100 notes in 1 file\n")


def test_names_of_other_languages_are_checked_when_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    name = write(
        "own.xml",
        schema(
            '<type name="import" primitiveType="uint8"/><type name="a-b" primitiveType="uint8"/><type name="nil" primitiveType="uint8"/>'
            '<type name="a.b" primitiveType="uint8"/><type name="é" primitiveType="uint8"/><type name="a$b" primitiveType="uint8"/>',
            '<message name="9lives" id="1"><field name="class" id="1" type="uint8"/></message>',
        ),
    )
    assert validate(capsys, name)[1] == "0 errors, 0 warnings in 1 file\n"
    for languages, count in (("java", 3), ("cpp", 4), ("golang", 5), ("csharp", 4), ("java,cpp", 7), ("all", 16)):
        assert validate(capsys, "--names", languages, name)[1].endswith(f"\n0 errors, {count} warnings in 1 file\n"), languages
    assert "own.xml:14:7: warning: name 'import' is not valid for Java (invalid-name)\n" in validate(capsys, "--names", "java", name)[1]
    with pytest.raises(SystemExit, match="2"):
        main(["validate", "--names", "cobol", name])
    assert "unknown language 'cobol'; expected cpp, java, golang, csharp or all" in capsys.readouterr().err


def test_layouts_and_tables_are_validated_too(capsys: pytest.CaptureFixture[str]) -> None:
    code, out = validate(capsys)
    assert code == 0
    assert out.startswith("0 errors, 0 warnings in ")
    layout = (
        '<sbe:messageSchema xmlns:sbe="http://fixprotocol.io/2016/sbe" xmlns:aw="urn:aerowire:layout" package="p" id="1" version="0" '
        'byteOrder="littleEndian" description="d">\n'
        '<aw:struct name="S" length="1" description="s"><field name="a" type="nope"/></aw:struct>'
        "</sbe:messageSchema>"
    )
    code, out = validate(capsys, write("layout.xml", layout), write("own.xml", schema("", MESSAGE)), write("other.xml", "<other/>"))
    assert code == 1
    assert "layout.xml:2:" in out
    assert "other.xml:1:1: error: root element 'other' is no schema" in out
    assert "(not-a-schema)" in out
    assert "own.xml" not in out


def test_includes_only_when_wanted(capsys: pytest.CaptureFixture[str]) -> None:
    write("types.xml", '<types><type name="Own" primitiveType="uint8"/></types>')
    name = write(
        "own.xml",
        f'<messageSchema {INCLUDE} package="p" id="1">{HEADER}<xi:include href="types.xml"/>'
        '<message name="M" id="1"><field name="f" id="1" type="Own"/></message></messageSchema>',
    )
    assert validate(capsys, name)[0] == 0
    code, out = validate(capsys, "--no-xinclude", name)
    assert (code, "type 'Own' of field 'f' is unknown" in out) == (1, True)


def groups(depth: int) -> str:
    return schema("", '<message name="M" id="1">' + '<group name="g" id="1">' * depth + "</group>" * depth + "</message>")


def references(count: int) -> str:
    pairs = "".join(
        f'<composite name="c{i}"><ref name="a" type="c{i + 1}"/><ref name="b" type="c{i + 1}"/></composite>' for i in range(count)
    )
    return schema(f'{pairs}<composite name="c{count}"/>', MESSAGE)


LONG = "".join(map(chr, range(0x4E00, 0x4E00 + 1_000)))
FIELD_OF_LONG = f'<message name="M" id="1"><field name="f" id="1" type="{LONG[300:] + LONG[:300]}"/></message>'
BIG = '<composite name="c"><type name="a" primitiveType="int8"/><type name="b" primitiveType="int8" offset="{}"/></composite>'
ENCODED = '<type name="t" primitiveType="uint8" length="0" characterEncoding="{}"/>'

HOSTILE: tuple[tuple[str, str | bytes, int, str], ...] = (
    ("nothing", b"", 2, "no element found"),
    ("zeros", bytes(1_000), 2, "not well-formed"),
    ("a program", b"\x7fELF" + bytes(range(256)), 2, "not well-formed"),
    ("entities", f'<!DOCTYPE a [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]>{schema("", "")[39:]}', 2, "has a DOCTYPE"),
    ("a DTD's file", f'<!DOCTYPE a SYSTEM "/etc/hostname">{schema("", "")[39:]}', 2, "has a DOCTYPE"),
    ("an unknown entity", schema("&a;", ""), 2, "undefined entity"),
    ("not its encoding", schema("", "").replace("UTF-8", "UTF-16"), 2, "declares UTF-16, but is not"),
    ("no encoding", schema("", "").replace("UTF-8", "nope"), 2, "unknown encoding"),
    ("half a character", schema("ä", "").encode("latin-1"), 2, "not well-formed"),
    ("a lone surrogate", schema("?", "").encode().replace(b"?\n</types>", b"\xed\xa0\x80</types>"), 2, "not well-formed"),
    ("a surrogate's number", schema('<type name="&#xD800;"/>', ""), 2, "invalid character number"),
    ("10,000 groups deep", groups(10_000), 2, "nested more than 256 deep (not-well-formed)"),
    ("100 groups deep", groups(100), 1, "groups are nested more than 64 deep (too-deep)"),
    ("100 composites deep", schema('<composite name="c">' * 100 + "</composite>" * 100, ""), 1, "composites are nested more than 64 deep"),
    (
        "references in a ring",
        schema('<ref name="r" type="s"/><ref name="s" type="r"/><composite name="c"><ref name="a" type="r"/></composite>', ""),
        1,
        "circular reference: r -> s -> r",
    ),
    (
        "a constant of itself",
        schema('<type name="T" primitiveType="uint8" presence="constant" valueRef="E.A"/><enum name="E" encodingType="T"/>', ""),
        1,
        "refers to itself",
    ),
    (
        "5,000 digits",
        schema(f'<type name="T" primitiveType="uint64" presence="constant">{"9" * 5_000}</type>', ""),
        1,
        "is out of the range of uint64",
    ),
    ("an id of 5,000 digits", schema("", f'<message name="M" id="{"9" * 5_000}"/>'), 1, "is out of the range of int32"),
    (
        "a name of a megabyte",
        schema("", f'<message name="M" id="1"><field name="f" id="1" type="{"x" * 1_000_000}"/></message>'),
        1,
        "is unknown",
    ),
    (
        "a constant of a megabyte",
        schema(f'<type name="T" primitiveType="char" presence="constant">{"x" * 1_000_000}</type>', MESSAGE),
        1,
        "has 1000000 characters, more than the 1024 that a constant may have (constant-too-long)",
    ),
    ("an encoding of hosts", schema(ENCODED.format("idna"), MESSAGE), 1, "'idna' of type 't' is no encoding of messages"),
    ("another encoding of hosts", schema(ENCODED.format("PunyCode"), MESSAGE), 1, "'PunyCode' of type 't' is no encoding of messages"),
    ("a huge array", schema('<type name="T" primitiveType="int64" length="2147483647"/>', MESSAGE), 1, "has length 2147483647"),
    ("a composite of huge arrays", schema(BIG.format("2147483640"), MESSAGE), 1, "composite 'c' takes 2147483641 bytes; expected at most"),
    (
        "a huge block",
        schema("", '<message name="M" id="1" blockLength="16777217"/>').replace('"uint16"', '"uint32"', 1),
        1,
        "message 'M' takes 16777217 bytes; expected at most 16777216 (bad-length)",
    ),
    ("an include of itself", schema("", '<xi:include href="own.xml"/>', INCLUDE), 1, "circular include: own.xml -> own.xml (bad-include)"),
    ("an include of nothing", schema("", '<xi:include href="nope.xml"/>', INCLUDE), 2, "No such file"),
    ("an include of a folder", schema("", '<xi:include href="."/>', INCLUDE), 2, "Is a directory"),
    (
        "an include of a device",
        schema("", '<xi:include href="/dev/zero"/>', INCLUDE),
        1,
        "own.xml:16:13: error: include of '/dev/zero' is outside of the schema's folder",
    ),
    ("an include from the net", schema("", '<xi:include href="http://example.com/a.xml"/>', INCLUDE), 1, "only local files are included"),
    ("an include without a name", schema("", "<xi:include/>", INCLUDE), 1, "lacks attribute 'href' (bad-include)"),
)


@pytest.mark.parametrize(("text", "code", "expected"), [one[1:] for one in HOSTILE], ids=[one[0] for one in HOSTILE])
def test_whatever_a_file_holds_becomes_a_line(capsys: pytest.CaptureFixture[str], text: str | bytes, code: int, expected: str) -> None:
    found, out = validate(capsys, write("own.xml", text))
    assert found == code
    assert expected in out
    assert len(out) < 10_000


def test_name_of_a_hundred_characters_is_not_compared_with_others(capsys: pytest.CaptureFixture[str]) -> None:
    found, out = validate(capsys, write("own.xml", schema(f'<type name="{LONG}" primitiveType="int8"/>', FIELD_OF_LONG)))
    assert found == 1
    assert "did you mean" not in out


def test_declarations_in_a_comment_of_utf_16_are_passed_over(capsys: pytest.CaptureFixture[str]) -> None:
    """Each was tried to the end of the file."""
    text = f"{schema('', MESSAGE).partition('?>')[2].strip()}<!--{'<?xml' * 300_000}-->"
    code, out = validate(capsys, write("own.xml", text.encode("utf-16")))
    assert (code, out) == (0, "0 errors, 0 warnings in 1 file\n")


def test_place_of_a_problem_that_is_told_again_is_looked_for_once(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    looked: list[str] = []
    locate = Document.locate_attribute

    def counted(document: Document, element: Any, attribute: str) -> Location:
        looked.append(attribute)
        return locate(document, element, attribute)

    monkeypatch.setattr(Document, "locate_attribute", counted)
    references = "".join(f'<ref name="r{index}" type="T"/>' for index in range(50))
    types = f'<type name="T" primitiveType="uint8" nullValue="5"/><composite name="C">{references}</composite>'
    _, out = validate(capsys, write("own.xml", schema(types, MESSAGE)))
    assert out.count("(null-without-optional)") == 51
    assert looked == ["nullValue"]


def test_references_that_double_end_at_a_limit(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(types, "WEIGHT_MAX", 20_000)
    code, out = validate(capsys, write("own.xml", references(60)))
    assert code == 1
    assert "composites have more than 2000 members, references expanded (too-many-members)\n" in out


def test_ends_when_there_are_too_many_problems(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(report, "PROBLEMS_MAX", 10)
    values = '<validValue name="A">1</validValue>' * 50
    code, out = validate(capsys, write("own.xml", schema(f'<enum name="E" encodingType="uint8">{values}</enum>', MESSAGE)))
    assert (code, out.splitlines()[-1]) == (1, "1 error, 10 warnings in 1 file")
    assert ": error: more than 10 problems; the rest is left out (too-many-problems)\n" in out


def test_reads_what_the_official_tool_reads_only_by_accident(capsys: pytest.CaptureFixture[str]) -> None:
    undeclared = schema("", MESSAGE).replace(' xmlns:sbe="http://fixprotocol.io/2016/sbe"', ' xsi:schemaLocation="x"')
    for text in (
        undeclared,
        re.sub(r"<(/?)(\w)", r"<\1s:\2", undeclared.replace("sbe:", "")),
        schema("", MESSAGE.replace("M", "é")).replace("UTF-8", "UTF-16").encode("utf-16"),
        schema('<type name="Ä" primitiveType="uint8"/>', MESSAGE).replace("UTF-8", "ISO-8859-1").encode("latin-1"),
        b"\xef\xbb\xbf" + schema("", MESSAGE).encode(),
        schema("", MESSAGE).replace("<sbe:messageSchema", "<!DOCTYPE xml>\n<sbe:messageSchema"),
    ):
        assert validate(capsys, write("own.xml", text)) == (0, "0 errors, 0 warnings in 1 file\n")


def test_notes_attributes_that_have_no_effect_where_they_stand(capsys: pytest.CaptureFixture[str]) -> None:
    fields = '<field name="f" id="1" type="uint8" nullValue="3" minValue="1" maxValue="2"/>'
    code, out = validate(capsys, write("own.xml", schema("", f'<message name="M" id="1" alignment="8">{fields}</message>')))
    assert code == 0
    assert re.findall(r"note: attribute '(\w+)' of (\w+ '\w')", out) == [
        ("alignment", "message 'M'"),
        ("nullValue", "field 'f'"),
        ("minValue", "field 'f'"),
        ("maxValue", "field 'f'"),
    ]
    assert out.count("(attribute-without-effect)") == 4
    assert "0 errors, 0 warnings, 4 notes in 1 file" in out
