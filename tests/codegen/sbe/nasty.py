"""A schema that no formatter likes: long descriptions, large enums, many fields, other alphabets, and names that code itself uses."""

from __future__ import annotations

from tests.codegen.sbe.writing import schema

LONG = 'A price\'s \\ """quoted""" \'currency\' — größer als, 値段, as far as one line can hold and then some more words. ' * 7
# Keywords of Python, Cython and C, names of Python's own and of what generated code imports, and some in other alphabets.
NAMES = [
    "char",
    "long",
    "unsigned",
    "cdef",
    "cpdef",
    "ctypedef",
    "cimport",
    "include",
    "sizeof",
    "bint",
    "struct",
    "union",
    "enum",
    "NULL",
    "gil",
    "nogil",
    "new",
    "IF",
    "ELSE",
    "double",
    "linux",
    "errno",
    "class",
    "def",
    "lambda",
    "None",
    "self",
    "cls",
    "int",
    "str",
    "list",
    "type",
    "object",
    "property",
    "ClassVar",
    "time",
    "name",
    "payload",
    "fields",
    "show",
    "größe",
    "値段",
    "naïve_Value",
    "staticmethod",
    "locals",
    "final",
    "EOF",
    "stdin",
    "p",
    "at",
    "data",
    "version",
    "is_bytes",
]
CLASSES = [
    "Any",
    "NULL",
    "IF",
    "Callable",
    "ClassVar",
    "Packet",
    "Field",
    "Struct",
    "List",
    "Größe",
    "time",
    "UDP",
    "np",
    "pa",
    "Enum",
    "TYPE_CHECKING",
    "Decoder",
]


def _description() -> str:
    return LONG.replace("&", "&amp;").replace('"', "&quot;")


def _field(name: str, number: int, kind: str, more: str = "") -> str:
    return f'<field name="{name}" id="{number}" type="{kind}" {more} description="{_description()}"/>'


def nasty_schema() -> str:
    """The text of the schema."""
    values = "".join(f'<validValue name="{name}" description="{_description()}">{at}</validValue>' for at, name in enumerate(NAMES, 1))
    values += "".join(f'<validValue name="ANameThatIsLongEnough_{at}">{at}</validValue>' for at in range(100, 250))
    choices = "".join(f'<choice name="aChoiceOfManyThatAreThere{at}" description="{_description()}">{at}</choice>' for at in range(60))
    types = f"""<enum name="Kind" encodingType="uint8" description="{_description()}">{values}</enum>
<enum name="IF" encodingType="char"><validValue name="ELSE">A</validValue></enum>
<set name="Flags" encodingType="uint64" description="{_description()}">{choices}</set>
<type name="Letter" primitiveType="char"/><type name="Code" primitiveType="char" length="6" description="{_description()}"/>
<type name="Row" primitiveType="float" length="20"/>
<type name="Unit" primitiveType="char" length="80" presence="constant">{"x'" * 35}</type>
<composite name="Inner" description="{_description()}"><type name="char" primitiveType="uint8"/><type name="rate" primitiveType="double"/>
</composite>
<composite name="Outer"><ref name="inner" type="Inner"/>
<ref name="NULL" type="Kind"/><type name="int" primitiveType="int64"/></composite>"""
    usual = "".join(_field(name, at, "uint32", 'presence="optional"' if at % 2 else "") for at, name in enumerate(NAMES, 1))
    many = "".join(_field(f"oneOfManyFields{at}", at, "Inner" if at % 20 == 0 else "int64") for at in range(1, 141))
    kinds = ["Kind", "Flags", "IF", "Letter", "Code", "Row", "Unit", "Inner", "Outer"]
    others = "".join(_field(f"of{kind}", at, kind) for at, kind in enumerate(kinds, 1))
    others += '<field name="cdef" id="20" type="IF" presence="constant" valueRef="IF.ELSE"/>'
    inner = '<group name="restrict" id="131" dimensionType="groupSizeEncoding"><field name="char" id="1" type="uint8"/></group>'
    parts = f"""<group name="long" id="30" dimensionType="groupSizeEncoding" description="{_description()}">{usual}{inner}</group>
<data name="include" id="32" type="varString" description="{_description()}"/><data name="später" id="33" type="varString"/>"""
    messages = [f'<sbe:message name="Usual" id="1" description="{_description()}">{usual}</sbe:message>']
    messages += [f'<sbe:message name="Many" id="2">{many}</sbe:message>', f'<sbe:message name="Other" id="3">{others}{parts}</sbe:message>']
    messages += [f'<sbe:message name="{name}" id="{at}"/>' for at, name in enumerate(CLASSES, 10) if name != "IF"]
    return schema(types, "".join(messages), f'description="{_description()}"')
