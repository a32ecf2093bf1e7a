"""The modules of a package of flyweights, by path within it."""

from __future__ import annotations

from importlib.resources import files

from aerowire.codegen.mark import mark
from aerowire.codegen.sbe.flyweights.blocks import numbers
from aerowire.codegen.sbe.flyweights.classes import ModuleOfComposites, add_composite, add_flyweights
from aerowire.codegen.sbe.flyweights.enums import enums_module
from aerowire.codegen.sbe.flyweights.fused import Fused
from aerowire.codegen.sbe.flyweights.lazy import dispatch_module, init_module
from aerowire.codegen.sbe.flyweights.module import Module
from aerowire.codegen.sbe.flyweights.part_properties import group_stem
from aerowire.codegen.sbe.flyweights.records import add_record
from aerowire.codegen.sbe.flyweights.text import spread
from aerowire.codegen.sbe.flyweights.values import Model
from aerowire.codegen.sbe.ir import HEADER_NUMBERS, Block, Composite, Message, MessageSchema
from aerowire.codegen.sbe.naming import types_with_class

ERRORS = "_errors"
SUPPORT = ("__init__", "errors", "text", "values", "parts", "flyweight", "reading", "writing", "records", "precedence")


def package_files(schema: MessageSchema, support: str) -> dict[str, str]:
    """Every file of the package but those of `support`, which its modules import by that relative name."""
    model = Model.of(schema, support)
    found = {
        "__init__.py": init_module(model),
        "py.typed": "",
        "dispatch.py": dispatch_module(model),
        "enums.py": enums_module(model),
        "composites.py": _composites(model),
        "header.py": _header(model),
        "messages/__init__.py": '"""One module for each message."""\n',
    }
    for message in schema.messages:
        found[f"messages/{model.names.modules[message.name]}.py"] = _message(model, message)
    return found


def support_files() -> dict[str, str]:
    """What packages of flyweights share, by path within its own package."""
    return {f"{name}.py": _copied("support", f"{name}.py") for name in SUPPORT}


def errors_file(shared: str) -> tuple[str, str]:
    """Path and text of the module with SbeError, which lies beside `support`: other targets have it too, with or without this one."""
    return f"{shared}/{ERRORS}.py", _copied(f"{ERRORS}.py")


def _copied(*path: str) -> str:
    text = files("aerowire.codegen.sbe.flyweights").joinpath(*path).read_text(encoding="utf-8")
    return f"# {mark()}\n{text}"


def _composites(model: Model) -> str:
    module = ModuleOfComposites(model, 1, "Composites: of each a decoder, an encoder and a data class.")
    for one in types_with_class(model.schema):
        if isinstance(one, Composite):
            stem = model.names.types[one]
            add_composite(module, stem, one)
            add_record(module, stem, one, [])
    return module.text()


def _header(model: Model) -> str:
    module = Module(model, 1, "The header in front of every message.")
    schema = model.schema
    # A schema id that is a constant tells nothing: whatever it is, the message is taken for one of this schema.
    told = {"schemaId": schema.id}
    items = numbers(model, schema.header.type, HEADER_NUMBERS, told)
    module.lines += ["", *spread(f"HEADER = {module.use('_Numbers')}(", items, ")", 0)]
    return module.text()


def _message(model: Model, message: Message) -> str:
    stem = model.names.messages[message.name]
    module = Module(model, 2, f"The message {message.name}: its decoder, its encoder and its data class.")
    add_flyweights(module, stem, message, (message.name,))
    fused = Fused(module, stem, message)
    _add_entries(module, stem, message)
    methods = fused.methods()
    module.lines += fused.functions
    add_record(module, stem, message, methods)
    return module.text()


def _add_entries(module: Module, stem: str, block: Block) -> None:
    """Data classes of the groups, the innermost first."""
    for group in block.groups:
        inner = group_stem(module.model, stem, group)
        _add_entries(module, inner, group)
        add_record(module, inner, group, [])
