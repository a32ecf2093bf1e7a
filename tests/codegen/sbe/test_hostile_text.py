"""No text of a schema becomes code, mark-up or a path, whatever characters it has, in any target."""

from __future__ import annotations

import ast
import json
import re
from functools import cache
from pathlib import Path
from xml.sax.saxutils import quoteattr

import pytest

from aerowire.codegen.main import main
from tests.codegen.sbe.writing import HEADER

TARGETS = "flyweights,arrow,scapy,wireshark,markdown,json"
DESCRIPTIONS = [
    '"""\nBOOM = 1\n"""',
    'ends with """',
    'ends with "',
    '\\"\\\'\\"""',
    "ends with \\",
    'ends with \\\\"',
    "'''\nBOOM = 1\n'''",
    "a\nBOOM = 1\n",
    "a\r\x85\u2028BOOM = 1",
    "*/ ]] --]] ]==] BOOM() --[[",
    "</td><script>BOOM</script>|a|`b` ``c``",
    "{{ BOOM }}{% raw %}${BOOM}%s{0}",
    "\n\n# BOOM\n| a |\n```\nBOOM\n```",
    "\u202eBOOM\u2066\u200d\x7f\x9b31m",
    "y " * 20_000,
]
NAMES = ["../../x", "a\nBOOM = 1", 'a"""\\', "\u202e`<b>\x9b31m", "x" * 200]
# A fenced block of Markdown, in which mark-up has no meaning.
DRAWING = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
# What no file shows as it is; JSON writes out those that it must.
HIDDEN = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069]")


def schema(text: str, **names: str) -> str:
    """A schema with a text in every attribute that is one, and in a constant; `names` are those that are not the usual ones."""
    about = "".join(f" {name}={quoteattr(text)}" for name in ("description", "semanticType"))
    about = about.replace("\n", "&#10;").replace("\r", "&#13;")
    name = {one: quoteattr(names.get(one, one)) for one in ("package", "enum", "value", "set", "choice", "array", "part", "member")}
    name |= {one: quoteattr(names.get(one, one)) for one in ("message", "field", "group", "data", "encoding")}
    constant = text[:3].replace("&", "&amp;").replace("<", "&lt;").replace("\r", "&#13;").encode("ascii", "replace").decode()
    return f"""<?xml version="1.0" encoding="UTF-8"?>
<messageSchema package={name["package"]} id="1" version="1" semanticVersion={quoteattr(text)}{about}>{HEADER}<types>
<composite name="varString"{about}><type name="length" primitiveType="uint16"/>
<type name="varData" primitiveType="uint8" length="0" characterEncoding={quoteattr(names.get("encoding", "UTF-8"))}/></composite>
<enum name={name["enum"]} encodingType="uint8"{about}><validValue name={name["value"]}{about}>1</validValue></enum>
<set name={name["set"]} encodingType="uint8"{about}><choice name={name["choice"]}{about}>1</choice></set>
<type name={name["array"]} primitiveType="char" length="3"{about}/>
<type name="Fixed" primitiveType="char" length="3" presence="constant"{about}>{constant}</type>
<composite name={name["part"]}{about}><type name={name["member"]} primitiveType="uint8"{about}/></composite></types>
<message name={name["message"]} id="1"{about}>
<field name={name["field"]} id="1" type={name["enum"]}{about} epoch={quoteattr(text)}/>
<field name="ofSet" id="2" type={name["set"]}{about}/>
<field name="ofText" id="3" type={name["array"]}{about}/><field name="ofPart" id="4" type={name["part"]}{about}/>
<field name="fixed" id="5" type="Fixed"{about}/>
<group name={name["group"]} id="6"{about}><field name="x" id="7" type="uint8"{about}/></group>
<data name={name["data"]} id="8" type="varString"{about}/></message></messageSchema>"""


@cache  # many files are the same for every schema
def runs_text(source: str) -> bool:
    """Return whether a Python source has a text of the schema as a name. Raises SyntaxError if it is no Python."""
    tree = ast.parse(source)
    return "BOOM" in source and any(isinstance(node, ast.Name) and node.id == "BOOM" for node in ast.walk(tree))


def check(folder: Path, text: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Generate code of a schema in `folder`, and look at every file that is there then."""
    path, out = folder / "own.xml", folder / "a" / "b" / "out"
    path.write_text(text, encoding="utf-8")
    code = main(["generate", str(path), "--out", str(out), "--target", TARGETS])
    told = capsys.readouterr()
    assert not HIDDEN.search(told.out + told.err), told
    assert "BOOM" not in re.findall(r"^\W*(\w+)", told.out + told.err, re.MULTILINE)
    written = [one for one in folder.rglob("*") if one.is_file() and one != path]
    assert [one for one in written if not one.is_relative_to(out)] == []
    assert (code, bool(written)) in {(0, True), (2, False)}
    for one in written:
        made = one.read_text(encoding="utf-8")
        if one.suffix == ".json":
            json.loads(made)
            continue
        assert not HIDDEN.search(made), (one, HIDDEN.search(made))
        assert not re.search(r"^[ #]*BOOM", made, re.MULTILINE) or one.suffix == ".py", one
        if one.suffix == ".py":
            assert not runs_text(made), one
        if one.suffix == ".md":
            assert not re.search(r"(?<!\\)<(?!a id=|/a>|!--)(?![^`\n]*`)", DRAWING.sub("", made)), one


@pytest.mark.parametrize("text", DESCRIPTIONS, ids=range(len(DESCRIPTIONS)))
def test_descriptions_stay_text(tmp_path: Path, text: str, capsys: pytest.CaptureFixture[str]) -> None:
    check(tmp_path, schema(text), capsys)


@pytest.mark.parametrize(
    "place", ["package", "enum", "value", "set", "choice", "array", "part", "member", "message", "field", "group", "data", "encoding"]
)
def test_names_stay_names(tmp_path: Path, place: str, capsys: pytest.CaptureFixture[str]) -> None:
    for number, name in enumerate(NAMES):
        folder = tmp_path / str(number)
        folder.mkdir()
        check(folder, schema("plain", **{place: name}).replace("a\nBOOM", "a&#10;BOOM"), capsys)
