"""The files of compiled codecs: the Cython module `native.pyx` of a package of flyweights, and its stub.

The module has the names of the package and their interface.  Its flyweights are those of the package, compiled; its data classes
are extension types with a reader and a writer of their own.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from aerowire.codegen.mark import mark
from aerowire.codegen.rendering.base import environment
from aerowire.codegen.sbe.flyweights.classes import ModuleOfComposites, add_composite, add_flyweights
from aerowire.codegen.sbe.flyweights.fused import Fused
from aerowire.codegen.sbe.flyweights.module import Module
from aerowire.codegen.sbe.flyweights.part_properties import group_stem
from aerowire.codegen.sbe.flyweights.records import add_record as add_data_class
from aerowire.codegen.sbe.flyweights.values import Model
from aerowire.codegen.sbe.ir import Block, Composite, Message, MessageSchema
from aerowire.codegen.sbe.naming import property_names, types_with_class
from aerowire.codegen.sbe.native.c_text import CIMPORT, TYPES, helpers
from aerowire.codegen.sbe.native.records import add_record
from aerowire.codegen.sbe.native.words import WORDS, given_back, plain, respelt, spelt

MODULE = "native"
PREFIX = "sbe_native_"
DESCRIPTION = "Compiled codecs of all messages."
# What a linter would say of a stub that has the Python modules' statements.
STUB_NOTE = """# The statements of the Python modules, each on one line and without bodies: what only bodies need is there too.
# ruff: noqa: E501, F401, I001, PYI002, PYI015, PYI044, PYI052, RUF100
# fmt: off
"""
CIMPORTS = (
    "import dataclasses as _dataclasses",
    "",
    "from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer",
    "from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_CheckExact, PyBytes_FromStringAndSize, PyBytes_GET_SIZE",
    "from cpython.float cimport PyFloat_AsDouble, PyFloat_Check",
    "from cpython.long cimport PyLong_AsLongLong, PyLong_AsSsize_t, PyLong_AsUnsignedLongLong, PyLong_Check, PyLong_CheckExact",
    "from cpython.unicode cimport (",
    "    PyUnicode_AsUTF8AndSize, PyUnicode_CheckExact, PyUnicode_Decode, PyUnicode_DecodeASCII, PyUnicode_DecodeLatin1,",
    "    PyUnicode_DecodeUTF8,",
    ")",
    CIMPORT,
    "from libc.stdlib cimport free, realloc",
    "from libc.string cimport memchr, memcpy, memset",
)


def native_files(schema: MessageSchema, support: str) -> dict[str, str]:
    """The Cython module and its stub, by path within the package of flyweights, whose `support` is that of Model."""
    model = Model.of(schema, support)
    return {f"{MODULE}.pyx": _source(model), f"{MODULE}.pyi": _stub(model)}


class _CythonModule(ModuleOfComposites):
    """The module as Cython reads it."""

    def use_class(self, name: str, module: str) -> str:
        own = plain(name)
        if own in WORDS and module != "composites":
            # It cannot be imported by its name.
            return super().define(spelt(own), f'getattr(__import__("{module}", globals(), None, ["{own}"], 1), "{own}")')
        return super().use_class(name, module)

    def define(self, name: str, expression: str) -> str:
        return super().define(name, respelt([expression])[0])


def _source(model: Model) -> str:
    module = _CythonModule(model, 1, DESCRIPTION)
    template = environment().get_template("sbe/templates/sbe_native_support.pyx.j2")
    support = template.render(c_lines=helpers(PREFIX, model.schema.byte_order), types=TYPES, prefix=PREFIX)
    module.lines += ["", *CIMPORTS, "", "", *support.rstrip().split("\n")]
    for name in ("_IrregularError", "_FAILURES", "_bytes_of", "_text_of"):
        module.use(name)
    module.use("SbeError")
    module.lines += ["", "", "_SbeError = SbeError"]
    enums = [model.names.types[one] for one in types_with_class(model.schema) if not isinstance(one, Composite)]
    enums = [name for name in enums if name in WORDS]
    start = len(module.lines)
    _add_flyweights(module)
    for enum in enums:
        module.use_class(enum, "enums")
    module.lines[start:] = respelt(module.lines[start:])
    names = [line for stem, owner in _owners(model) for line in _given_back(stem, owner)]
    names += [f'globals()["{one}"] = {spelt(one)}' for one in enums]
    module.lines += ["", "", *names] if names else []
    for one in types_with_class(model.schema):
        if isinstance(one, Composite):
            add_record(module, model.names.types[one], one)
    for message in model.schema.messages:
        _add_records(module, model.names.messages[message.name], message)
    for name in ("_view_of", "_check_room"):
        module.use(name)
    module.use_class("HEADER", "header")
    module.use("FieldMeta")
    module.lines += _dispatch(model)
    return "# cython: language_level=3, annotation_typing=False, auto_pickle=False, cdivision=True\n" + module.text()


def _add_flyweights(module: Module) -> None:
    model = module.model
    for one in types_with_class(model.schema):
        if isinstance(one, Composite):
            add_composite(module, model.names.types[one], one)
    for message in model.schema.messages:
        add_flyweights(module, model.names.messages[message.name], message, (message.name,))


def _add_records(module: Module, stem: str, block: Block) -> None:
    """The innermost first."""
    for group in block.groups:
        _add_records(module, group_stem(module.model, stem, group), group)
    add_record(module, stem, block)


def _owners(model: Model) -> Iterator[tuple[str, Block | Composite]]:
    """Every block and composite that has classes, with what they are called after."""
    yield from ((model.names.types[one], one) for one in types_with_class(model.schema) if isinstance(one, Composite))
    for message in model.schema.messages:
        yield from _blocks(model, model.names.messages[message.name], message)


def _blocks(model: Model, stem: str, block: Block) -> Iterator[tuple[str, Block]]:
    yield stem, block
    for group in block.groups:
        yield from _blocks(model, group_stem(model, stem, group), group)


def _given_back(stem: str, owner: Block | Composite) -> list[str]:
    names = list(property_names(owner).values())
    return [line for kind in (f"_{stem}Layout", f"{stem}Decoder", f"{stem}Encoder") for line in given_back(kind, names)]


def _dispatch(model: Model) -> list[str]:
    schema = model.schema
    stems = [(message.id, spelt(model.names.messages[message.name]), model.names.messages[message.name]) for message in schema.messages]
    return [
        "",
        "",
        f"_MESSAGES = {{{', '.join(f'{number}: ({kind}, {stem}Decoder)' for number, kind, stem in stems)}}}",
        "",
        "",
        "def decode(buffer, offset=0):",
        '    """Read whichever message of the schema starts at `offset`, as its data class.  Raises SbeError when it is none."""',
        "    return _of(buffer, offset)[0].decode(buffer, offset)",
        "",
        "",
        "def decoder_of(buffer, offset=0):",
        '    """A decoder, wrapped, of whichever message of the schema starts at `offset`.  Raises SbeError when it is none."""',
        "    return _of(buffer, offset)[1]().wrap_and_apply_header(buffer, offset)",
        "",
        "",
        "def _of(buffer, offset):",
        '    view = _view_of(buffer, "message")',
        '    _check_room("header", view, offset, HEADER.size)',
        "    _, template_id, schema_id, _ = HEADER.unpack(view, offset)",
        f"    if schema_id != {schema.id}:",
        f'        raise _SbeError("this is a message of another schema", "message", "schema id {schema.id}", schema_id)',
        "    found = _MESSAGES.get(template_id)",
        "    if found is None:",
        '        raise _SbeError("the schema has no such message", "message", f"one of {len(_MESSAGES)} template ids", template_id)',
        "    return found",
    ]


def _stub(model: Model) -> str:
    """What type checkers see: the same as of the Python modules, without the bodies."""
    module = ModuleOfComposites(model, 1, DESCRIPTION)
    _add_flyweights(module)
    for one in types_with_class(model.schema):
        if isinstance(one, Composite):
            add_data_class(module, model.names.types[one], one, [])
    for message in model.schema.messages:
        _add_data_classes(module, model.names.messages[message.name], message)
    module.use("SbeError")
    module.use("FieldMeta")
    buffer, any_name = module.use("_Buffer"), module.use("_Any")
    for name in ("decode", "decoder_of"):
        module.lines += ["", "", f"def {name}(buffer: {buffer}, offset: int = 0) -> {any_name}: ..."]
    tree = _Bodiless().visit(ast.parse(module.text()))
    return f"# {mark(model.schema.file_name)}\n{STUB_NOTE}{ast.unparse(ast.fix_missing_locations(tree))}\n"


def _add_data_classes(module: Module, stem: str, block: Block) -> None:
    for group in block.groups:
        _add_data_classes(module, group_stem(module.model, stem, group), group)
    add_data_class(module, stem, block, Fused(module, stem, block).methods() if isinstance(block, Message) else [])


class _Bodiless(ast.NodeTransformer):
    """Functions keep their signature, classes their docstring too."""

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        node.body = [ast.Expr(ast.Constant(...))]
        return node
