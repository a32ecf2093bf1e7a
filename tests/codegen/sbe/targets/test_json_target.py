"""The JSON of a schema: all that the tree holds, each type once, the same bytes each time, and the keys that the page names."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from aerowire.codegen.layouts.targets.layout_json import JsonTarget
from aerowire.codegen.main import main
from aerowire.codegen.project import Project
from aerowire.codegen.sbe.ir import MessageSchema
from aerowire.codegen.sbe.placement import Placement
from aerowire.codegen.sbe.reader import load_message_schema
from aerowire.codegen.sbe.targets.json import JsonMessages
from tests.codegen.sbe import shown

PAGE = (Path(__file__).resolve().parents[4] / "docs/codegen-json.md").read_text()


def rendered(schema: MessageSchema) -> tuple[str, Any]:
    ((path, text),) = JsonMessages().render(schema, Placement("a.b")).items()
    return path, json.loads(text, parse_constant=lambda name: (_ for _ in ()).throw(ValueError(name)))


def test_says_what_the_schema_says() -> None:
    path, tree = rendered(load_message_schema(shown.SCHEMA))
    assert path == "a/b/b.json"
    assert (tree["format"], tree["id"], tree["version"], tree["byte_order"]) == ("aerowire messages 1", 77, 2, "littleEndian")
    order, empty = tree["messages"]
    fields = {field["name"]: field for field in order["fields"]}
    assert [fields[name]["offset"] for name in ("id", "price", "ratio", "money", "nil", "class")] == [0, 8, 20, 51, 67, 71]
    types = {one["name"]: one for one in tree["types"]}
    assert fields["quantity"]["type"] == "Quantity"
    assert {name: types["Quantity"][name] for name in ("kind", "null", "minimum", "maximum", "primitive", "size")} == {
        "kind": "encoded",
        "null": 1_000_000,
        "minimum": 1,
        "maximum": 999_999,
        "primitive": "uint32",
        "size": 4,
    }
    assert types["Ratio"]["null"] == "NaN"
    assert fields["greatest"]["constant"] == 2**64 - 2
    assert (fields["kind"]["value_ref"], fields["kind"]["presence"], fields["kind"]["size"]) == ("State.end", "constant", 0)
    assert fields["ratio"]["deprecated"] == 2
    fee = next(member for member in types["Money"]["members"] if member["name"] == "fee")
    assert [(one["name"], one["offset"]) for one in fee["type"]["members"]] == [("rate", 0), ("payer", 4), ("marks", 6)]
    fills = order["groups"][0]
    assert (fills["dimension"], fills["groups"][0]["name"], fills["data"][0]["encoding"]) == ("groupSizeEncoding", "parts", "UTF-8")
    assert order["data"][1]["max_length"] == 1_073_741_824
    assert empty["block_length"] == 0


def test_is_the_same_wherever_the_file_lies(tmp_path: Path) -> None:
    (tmp_path / "shown.xml").write_text(shown.schema_text("<"))
    first = rendered(load_message_schema(shown.SCHEMA, "one"))[1]
    second = rendered(load_message_schema(tmp_path / "shown.xml", "one"))[1]
    assert json.dumps(first) == json.dumps(second)


def test_layouts_of_the_project(project: Project) -> None:
    files = JsonTarget().render(project)
    assert len(files) == len(project.schemas)
    tree = json.loads(files["aerowire/codecs/json/transport.json"])
    message = next(struct for struct in tree["structs"] if struct["name"] == "StatusMessage")
    assert (message["length"], message["full_length"], message["type_value"]) == (36, 44, 3)
    assert [field["offset"] for field in message["fields"]][-2:] == [28, 36]
    (variant,) = tree["variants"]
    assert {"value": 2, "value_name": "NAK", "struct": "Nak", "length": None} in variant["cases"]


def test_is_made_on_request_only(tmp_path: Path) -> None:
    assert main(["generate", "aerowire:transport", "aerowire:archive", "--out", str(tmp_path)]) == 0
    assert not (tmp_path / "aerowire/codecs/json").exists()
    assert main(["generate", "aerowire:transport", "aerowire:archive", "--target", "json", "--out", str(tmp_path)]) == 0
    assert sorted(path.name for path in (tmp_path / "aerowire/codecs/json").iterdir()) == ["archive.json", "transport.json"]


def keys(node: Any) -> set[str]:
    if isinstance(node, dict):
        return set(node) | {key for one in node.values() for key in keys(one)}
    return {key for one in node for key in keys(one)} if isinstance(node, list) else set()


def test_page_names_every_key() -> None:
    words = set(re.findall(r"[a-z_]+", PAGE))
    assert keys(rendered(load_message_schema(shown.SCHEMA))[1]) <= words
