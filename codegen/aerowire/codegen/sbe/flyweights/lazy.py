"""The package itself, which loads a module when one of its names is asked for, and the choice of a message by its header."""

from __future__ import annotations

from aerowire.codegen.mark import mark
from aerowire.codegen.sbe.flyweights.module import Module, import_key, import_lines, listing_key
from aerowire.codegen.sbe.flyweights.text import WIDTH, docstring, literal
from aerowire.codegen.sbe.flyweights.values import Model
from aerowire.codegen.sbe.ir import Composite


def exported_names(model: Model) -> dict[str, str]:
    """Every public name of the package by name, with the module that has it, relative to the package."""
    errors = f"{model.support}.errors"
    found = {"SbeError": errors, "FieldMeta": errors, "decode": ".dispatch", "decoder_of": ".dispatch"}
    for one, name in model.names.types.items():
        if isinstance(one, Composite):
            found |= dict.fromkeys((name, f"{name}Decoder", f"{name}Encoder"), ".composites")
        else:
            found[name] = ".enums"
    stems = [(model.names.messages[message.name], message.name) for message in model.schema.messages]
    stems += [(stem, path[0]) for path, stem in model.names.groups.items()]
    for stem, message in stems:
        found |= dict.fromkeys((stem, f"{stem}Decoder", f"{stem}Encoder"), f".messages.{model.names.modules[message]}")
    return dict(sorted(found.items(), key=lambda one: listing_key(one[0])))


def init_module(model: Model) -> str:
    schema = model.schema
    names = exported_names(model)
    by_module: dict[str, list[str]] = {}
    for name, module in names.items():
        by_module.setdefault(module, []).append(name)
    out = [f"# {mark(schema.file_name)}"]
    fallback = f"Messages of {schema.package or 'a schema'}."
    out += docstring(schema.description or fallback, 0, f"Schema {schema.id}, version {schema.version}.  Modules are loaded when used.")
    out += [
        "",
        "from __future__ import annotations",
        "",
        "import importlib",
        "",
        "TYPE_CHECKING = False  # typing takes longer to import",
        "",
    ]
    out += ["if TYPE_CHECKING:"]
    for module in sorted(by_module, key=lambda one: import_key(one)[1]):
        out += import_lines(module, sorted(by_module[module], key=import_key), 1)
    out += ["", "_MODULES = {", *(f"    {literal(name)}: {literal(module)}," for name, module in names.items()), "}"]
    out += ["", "__all__ = [", *(f"    {literal(name)}," for name in names), "]"]
    out += [
        "",
        "",
        "def __getattr__(name: str) -> object:",
        "    module = _MODULES.get(name)",
        "    if module is None:",
        '        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")',
        "    found: object = getattr(importlib.import_module(module, __name__), name)",
        "    globals()[name] = found",
        "    return found",
        "",
        "",
        "def __dir__() -> list[str]:",
        "    return sorted({*globals(), *__all__})",
    ]
    return "\n".join(out) + "\n"


def _unions(model: Model) -> list[str]:
    """What `decode` and `decoder_of` may return, for type checkers."""
    places = {model.names.modules[name]: stem for name, stem in model.names.messages.items()}
    lines: list[str] = []
    for module in sorted(places, key=lambda one: import_key(one)[1]):
        names = sorted((places[module], f"{places[module]}Decoder"), key=import_key)
        lines += import_lines(f".messages.{module}", names, 1)
    for alias, suffix in (("_AnyMessage", ""), ("_AnyDecoder", "Decoder")):
        kinds = [f"{stem}{suffix}" for stem in places.values()]
        line = f"    {alias}: _TypeAlias = {' | '.join(kinds)}"
        inner = [f"        {' | '.join(kinds)}"]
        if len(inner[0]) > WIDTH:
            inner = [f"        {kinds[0]}", *(f"        | {kind}" for kind in kinds[1:])]
        lines += ["", line] if len(line) <= WIDTH else ["", f"    {alias}: _TypeAlias = (", *inner, "    )"]
    return lines


def dispatch_module(model: Model) -> str:
    """Which message it is that a header announces."""
    module = Module(model, 1, "Which message it is, by its header.")
    buffer = module.use("_Buffer")
    any_name = module.use("_Any")
    any_message = any_decoder = any_name
    if model.schema.messages:
        any_message, any_decoder = "_AnyMessage", "_AnyDecoder"
        module.use("_TypeAlias")
        module.typing_lines += _unions(model)
    module.modules.append("importlib")
    view_of = module.use("_view_of")
    module.use_class("HEADER", "header")
    module.use("SbeError")
    schema = model.schema
    module.lines += ["", f"SCHEMA_ID = {schema.id}"]
    module.lines += ["_MESSAGES = {"] if schema.messages else ["_MESSAGES: dict[int, tuple[str, str]] = {}"]
    for message in schema.messages:
        place = (f".messages.{model.names.modules[message.name]}", model.names.messages[message.name])
        module.lines.append(f"    {message.id}: ({literal(place[0])}, {literal(place[1])}),")
    module.lines += ["}"] if schema.messages else []
    module.lines += [
        "",
        "",
        f"def decode(buffer: {buffer}, offset: int = 0) -> {any_message}:",
        '    """Read whichever message of the schema starts at `offset`, as its data class.  Raises SbeError when it is none."""',
        f'    found: {any_message} = _class_of(buffer, offset, "").decode(buffer, offset)',
        "    return found",
        "",
        "",
        f"def decoder_of(buffer: {buffer}, offset: int = 0) -> {any_decoder}:",
        '    """A decoder, wrapped, of whichever message of the schema starts at `offset`.  Raises SbeError when it is none."""',
        f'    found: {any_decoder} = _class_of(buffer, offset, "Decoder")().wrap_and_apply_header(buffer, offset)',
        "    return found",
        "",
        "",
        "def _header_of(view: memoryview, offset: int) -> tuple[int, ...]:",
        f'    {module.use("_check_room")}("header", view, offset, HEADER.size)',
        "    return HEADER.unpack(view, offset)",
        "",
        "",
        f"def _class_of(buffer: {buffer}, offset: int, suffix: str) -> {any_name}:",
        f'    _, template_id, schema_id, _ = _header_of({view_of}(buffer, "message"), offset)',
        "    if schema_id != SCHEMA_ID:",
        '        raise SbeError("this is a message of another schema", "message", f"schema id {SCHEMA_ID}", schema_id)',
        "    place = _MESSAGES.get(template_id)",
        "    if place is None:",
        '        raise SbeError("the schema has no such message", "message", f"one of {len(_MESSAGES)} template ids", template_id)',
        "    return getattr(importlib.import_module(place[0], __package__), place[1] + suffix)",
    ]
    return module.text()
