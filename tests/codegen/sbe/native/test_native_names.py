"""Compiled codecs call everything as the Python ones do, though Cython and C could not."""

from __future__ import annotations

import pickle
from types import ModuleType
from typing import Any

import pytest

from aerowire.codegen.sbe.native.words import WORDS, respelt
from tests.codegen.sbe.packages import Both, import_native
from tests.codegen.sbe.writing import schema

# Words of Cython, of C, macros that C compilers and headers define, and what is none of them.
NAMES = [
    "char",
    "long",
    "unsigned",
    "cdef",
    "include",
    "sizeof",
    "NULL",
    "IF",
    "struct",
    "gil",
    "double",
    "staticmethod",
    "linux",
    "errno",
    "EOF",
    "price",
]
OWN = [
    "char",
    "long",
    "unsigned",
    "cdef",
    "include",
    "sizeof",
    "null",
    "if_",
    "struct",
    "gil",
    "double",
    "staticmethod",
    "linux",
    "errno",
    "eof",
    "price",
]
TYPES = """<composite name="NULL"><type name="char" primitiveType="uint8"/><type name="short" primitiveType="uint8"/></composite>
<enum name="IF" encodingType="uint8"><validValue name="ELSE">1</validValue><validValue name="char">2</validValue></enum>
<set name="ELIF" encodingType="uint8"><choice name="DEF">1</choice></set>"""


def message() -> str:
    fields = "".join(f'<field name="{name}" id="{at}" type="uint8"/>' for at, name in enumerate(NAMES, 1))
    others = (("bint", "NULL", ""), ("union", "IF", ""), ("enum", "IF", 'presence="optional"'), ("signed", "ELIF", ""))
    fields += "".join(f'<field name="{name}" id="{at}" type="{kind}" {more}/>' for at, (name, kind, more) in enumerate(others, 50))
    fields += '<field name="const" id="60" type="IF" presence="constant" valueRef="IF.ELSE"/>'
    group = '<group name="extern" id="61" dimensionType="groupSizeEncoding"><field name="void" id="62" type="uint8"/></group>'
    return f'<sbe:message name="DEF" id="1">{fields}{group}<data name="volatile" id="63" type="varString"/></sbe:message>'


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Both:
    """The Python package and the compiled module."""
    return import_native(schema(TYPES, message()), tmp_path_factory.mktemp("names"))


def made(module: ModuleType) -> Any:
    values = {name: at for at, name in enumerate(OWN)}
    rows = [module.DEFExtern(void=7), module.DEFExtern(void=8)]
    return module.DEF(**values, bint=module.NULL(char=1, short=2), union=module.IF(2), signed=module.ELIF(2), extern=rows, volatile="x")


def test_keywords_and_attributes_are_those_of_python(both: Both) -> None:
    python, native = (made(module) for module in both)
    assert repr(native) == repr(python)
    assert native.to_dict() == python.to_dict()
    raw = python.encode()
    assert native.encode() == raw
    assert both[1].DEF.decode(raw) == native == both[1].DEF.from_dict(python.to_dict()) == pickle.loads(pickle.dumps(native))
    native.char, native.cdef = 90, 91
    assert (native.char, native.cdef, native.bint.char, native.const.name) == (90, 91, 1, "ELSE")


def test_flyweights_have_the_names(both: Both) -> None:
    buffers = []
    for module in both:
        buffer = bytearray(100)
        encoder = module.DEFEncoder().wrap_and_apply_header(buffer)
        encoder.char, encoder.cdef, encoder.union, encoder.bint = 5, 6, module.IF(1), module.NULL(char=3, short=4)
        for entry in encoder.extern(2):
            entry.void = 9
        encoder.volatile = "text"
        buffers.append(buffer)
        decoder = module.DEFDecoder().wrap_and_apply_header(buffer)
        assert (decoder.char, decoder.bint.char, [entry.void for entry in decoder.extern], decoder.volatile) == (5, 3, [9, 9], "text")
        assert decoder.const is module.IF(1)
    assert buffers[0] == buffers[1]


def test_classes_have_the_same_public_names(both: Both) -> None:
    for name in both[0].__all__:
        python, native = (getattr(module, name) for module in both)
        if isinstance(python, type):
            assert (native.__name__, native.__qualname__) == (python.__name__, python.__qualname__)
            public = [{one for one in dir(kind) if not one.startswith("_")} for kind in (native, python)]
            assert public[0] == public[1], name
            assert not [one for one in dir(native) if one.startswith("_named")]


def test_keywords_that_are_missing_or_too_many_are_told(both: Both) -> None:
    for module in both:
        with pytest.raises(TypeError, match="char"):
            module.NULL(short=1)
        with pytest.raises(TypeError, match="unexpected keyword argument 'nothing'"):
            module.NULL(char=1, short=1, nothing=2)


def test_words_in_texts_and_comments_stay() -> None:
    assert respelt(['a = "char", self.char, Side.IF  # char', "char: int = charm"]) == [
        'a = "char", getattr(self, "char"), getattr(Side, "IF")  # char',
        "_named_char: int = charm",
    ]
    assert {"char", "cdef", "IF", "sizeof"} <= WORDS
