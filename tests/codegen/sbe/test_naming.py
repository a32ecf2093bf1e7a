"""The Python spelling of a schema's names: always an identifier, always free, and the same however the schema grows."""

from __future__ import annotations

import keyword
import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aerowire.codegen.primitives import PRIMITIVES
from aerowire.codegen.sbe.ir import (
    ByteOrder,
    Choice,
    Composite,
    EncodedType,
    Enum,
    Field,
    FlagSet,
    Header,
    Member,
    Message,
    MessageSchema,
    Presence,
    ValidValue,
)
from aerowire.codegen.sbe.naming import (
    class_names,
    enum_member_names,
    null_member_name,
    package_name,
    pascal_name,
    property_names,
    snake_name,
)

UINT16 = EncodedType(name="uint16", primitive=PRIMITIVES["uint16"])
NAMES = st.text(st.sampled_from('aAbB_1-9 éß٣ﬁ²\n"\\'), max_size=6) | st.sampled_from(
    [*keyword.kwlist, "wrap", "int", "mro", "sbeSkip", "İ"]
)


def _message(*names: str, since: dict[str, int] | None = None, name: str = "M") -> Message:
    fields = tuple(
        Field(name=one, id=index, type=UINT16, offset=2 * index, presence=Presence.REQUIRED, since_version=(since or {}).get(one, 0))
        for index, one in enumerate(names)
    )
    return Message(name=name, id=1, block_length=2 * len(names), fields=fields, groups=(), data=())


def _schema(types: tuple[Enum | Composite, ...], *messages: Message) -> MessageSchema:
    parts = ("blockLength", "templateId", "schemaId", "version")
    header = Composite(
        name="messageHeader", members=tuple(Member(name=one, type=UINT16, offset=2 * i) for i, one in enumerate(parts)), size=8
    )
    return MessageSchema(
        package="p", source="p.xml", id=1, version=0, semantic_version="", description="", byte_order=ByteOrder.LITTLE_ENDIAN,
        header=Header(type=header), types=types, messages=messages,
    )  # fmt: skip


def _enum(*names: str, null: int = 255) -> Enum:
    values = tuple(ValidValue(name=name, value=index) for index, name in enumerate(names))
    return Enum(name="E", primitive=PRIMITIVES["uint8"], values=values, null=null)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("my-schemas.class", "my_schemas.class_"),
        ("io.acme.orders", "io_.acme.orders"),
        ("code", "code_"),
        ("test.orders", "test_.orders"),
        ("acme.io.code", "acme.io.code"),
        (" . ", "messages"),
    ],
)
def test_a_package_can_be_imported(name: str, expected: str) -> None:
    assert package_name(name) == expected


@pytest.mark.parametrize(("name", "expected"), [("io.class", "acme.io.class_"), ("test", "acme.test"), (" . ", "acme.messages")])
def test_within_a_package_no_name_is_hidden_by_the_standard_library(name: str, expected: str) -> None:
    assert package_name(name, parent="acme") == expected


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("fuelFigures", "fuel_figures"),
        ("ClOrdID", "cl_ord_id"),
        ("class", "class_"),
        ("int", "int_"),
        ("wrap", "wrap_"),
        ("sbeSkip", "sbe_skip_"),
        ("_private__name_", "private_name"),
        ("2way", "n2way"),
        ("ﬁeld", "field"),
        ("-", "unnamed"),
        ("match", "match"),
        ("type", "type"),
    ],
)
def test_a_property_is_a_free_identifier_in_snake_case(name: str, expected: str) -> None:
    assert property_names(_message(name)) == {name: expected}


def test_names_that_become_equal_get_numbers_and_the_oldest_keeps_its_own() -> None:
    block = _message("fooBar", "FooBar", "foo_bar", since={"fooBar": 2})
    assert property_names(block) == {"FooBar": "foo_bar", "foo_bar": "foo_bar_2", "fooBar": "foo_bar_3"}


@settings(max_examples=150, deadline=None)
@given(st.lists(NAMES, min_size=1, max_size=8, unique=True))
def test_any_names_make_distinct_identifiers_that_stay_when_more_are_added(names: list[str]) -> None:
    found = property_names(_message(*names))
    assert list(found) == names
    assert len({one.casefold() for one in found.values()}) == len(names)
    assert all(one.isidentifier() and not keyword.iskeyword(one) and unicodedata.normalize("NFKC", one) == one for one in found.values())
    assert not any(one.startswith("_") for one in found.values())
    fewer = property_names(_message(*names[:-1]))
    assert {name: found[name] for name in fewer} == fewer
    members = enum_member_names(_enum(*names)).values()
    assert len(set(members)) == len(names)
    assert all(one.isidentifier() and not keyword.iskeyword(one) for one in members)
    assert all(one(name).isidentifier() for name in names for one in (snake_name, pascal_name))


def test_messages_types_and_their_derived_classes_never_share_a_name() -> None:
    schema = _schema((_enum("A"),), _message("a", name="E"), _message("a", name="EDecoder"), _message("a", name="value_error"))
    names = class_names(schema)
    assert names.messages == {"E": "E", "EDecoder": "EDecoder2", "value_error": "ValueErrorType"}
    assert list(names.types.values()) == ["MessageHeader", "E2"]
    assert names.modules == {"E": "e", "EDecoder": "e_decoder2", "value_error": "value_error_type"}


def test_members_of_enums_and_sets_are_upper_case_and_never_clash_with_what_enums_have() -> None:
    assert enum_member_names(_enum("sunRoof", "mro", "real", "NULL_VALUE", "UNKNOWN_7", "True")) == {
        "sunRoof": "SUN_ROOF", "mro": "MRO_", "real": "REAL_", "NULL_VALUE": "NULL_VALUE_", "UNKNOWN_7": "UNKNOWN_7_", "True": "TRUE",
    }  # fmt: skip
    choices = (Choice(name="a", bit=0), Choice(name="A", bit=1))
    assert enum_member_names(FlagSet(name="S", primitive=PRIMITIVES["uint8"], choices=choices)) == {
        "a": "A",
        "A": "A_2",
    }
    assert null_member_name(_enum("A")) == "NULL_VALUE"
    assert null_member_name(_enum("A", null=0)) is None
