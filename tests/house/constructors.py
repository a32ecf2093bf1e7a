"""Constructors of native classes, compared with what stubs say of them: a cdef class tells nothing of its own at run time.

Names, order, kinds and the presence of defaults are compared; types are not. Cython's parser reads the sources, which are not compiled.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import reduce
from importlib import import_module
from inspect import Parameter, Signature
from pathlib import Path
from typing import Any

CONSTRUCTORS = ("__init__", "__cinit__")
NO_PARAMETERS = Signature()


@dataclass
class NativeClass:
    """A class as a source or a stub declares it; `bases` are dotted names."""

    bases: list[str]
    constructors: dict[str, Signature] = field(default_factory=dict)


Classes = dict[str, NativeClass]


def differences(modules: Mapping[str, Path]) -> list[str]:
    """Return a line for each class whose stub's constructor differs from that of its source.

    `modules` maps dotted names to paths of `.pyx` files; a module without a stub serves for its subclasses only.
    """
    sources: Classes = {}
    stubs: Classes = {}
    for module, path in modules.items():
        sources |= source_classes(module, path)
        if path.with_suffix(".pyi").exists():
            stubs |= stub_classes(module, path.with_suffix(".pyi"))
    found = []
    for name in sorted(stubs.keys() & sources.keys()):
        expected, actual = source_constructor(sources, name), next(lineage(stubs, name, "__init__"), NO_PARAMETERS)
        if expected != actual:
            found.append(f"{name}: the source takes {expected}, the stub {actual}".replace("=Ellipsis", "=..."))
    return found


def source_constructor(classes: Classes, name: str) -> Signature:
    """Return what a call of a class takes. `__init__` decides where there is one: every `__cinit__` has to take the same.

    A `__cinit__` without parameters is passed none. The `**` of others takes what base classes and subclasses declare.
    """
    chain = list(lineage(classes, name, "__init__"))
    chain = chain or [*filter(has_parameters, lineage(classes, name, "__cinit__")), NO_PARAMETERS]
    return reduce(lambda inherited, own: extended(own, inherited), reversed(chain))


def lineage(classes: Classes, name: str, method: str) -> Iterator[Signature]:
    """Yield a class's own and inherited constructors, its own first."""
    if name in classes:
        if method in classes[name].constructors:
            yield classes[name].constructors[method]
        for base in classes[name].bases:
            yield from lineage(classes, base, method)


def has_parameters(signature: Signature) -> bool:
    return bool(signature.parameters)


def extended(own: Signature, inherited: Signature) -> Signature:
    """Return `own` with the keywords of the constructor that it extends in place of its `**`."""
    named = [each for each in own.parameters.values() if each.kind is not Parameter.VAR_KEYWORD]
    if len(named) == len(own.parameters):
        return own
    keywords = [each for each in inherited.parameters.values() if each.kind in (Parameter.KEYWORD_ONLY, Parameter.VAR_KEYWORD)]
    names = {each.name for each in named}
    return own.replace(parameters=named + [each for each in keywords if each.name not in names])


def source_classes(module: str, path: Path) -> Classes:
    classes: Classes = {}
    names: dict[str, str] = {}
    parse: Any = import_module("Cython.Compiler.TreeFragment").parse_from_strings
    declarations = path.with_suffix(".pxd")
    trees = [parse(str(declarations), declarations.read_text(), level="module_pxd")] if declarations.exists() else []
    for node in [each for tree in [*trees, parse(str(path), path.read_text())] for each in statements(tree.body)]:
        match type(node).__name__:
            case "FromCImportStatNode":
                names |= {alias or name: f"{node.module_name}.{name}" for _, name, alias in node.imported_names}
            case "CClassDefNode" | "PyClassDefNode" if node.body is not None:
                name = getattr(node, "class_name", None) or node.name
                bases = [names.get(base.name, f"{module}.{base.name}") for base in node.bases.args if hasattr(base, "name")]
                methods = [each for each in statements(node.body) if type(each).__name__ == "DefNode" and each.name in CONSTRUCTORS]
                classes[f"{module}.{name}"] = NativeClass(bases, {each.name: source_signature(each) for each in methods})
    return classes


def statements(body: Any) -> Iterable[Any]:
    return body.stats if type(body).__name__ == "StatListNode" else [body]


def source_signature(method: Any) -> Signature:
    kinds = [Parameter.POSITIONAL_ONLY] * method.num_posonly_args + [Parameter.POSITIONAL_OR_KEYWORD] * len(method.args)
    named = [
        parameter(each.declarator.name, Parameter.KEYWORD_ONLY if each.kw_only else kind, has_default=each.default is not None)
        for each, kind in zip(method.args, kinds, strict=False)
    ]
    if method.star_arg:
        named.insert(len(method.args) - method.num_kwonly_args, parameter(method.star_arg.name, Parameter.VAR_POSITIONAL))
    if method.starstar_arg:
        named.append(parameter(method.starstar_arg.name, Parameter.VAR_KEYWORD))
    return Signature(named[1:])


def stub_classes(module: str, path: Path) -> Classes:
    classes: Classes = {}
    names: dict[str, str] = {}
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.ImportFrom):
            names |= {each.asname or each.name: f"{node.module}.{each.name}" for each in node.names}
        elif isinstance(node, ast.ClassDef):
            bases = [names.get(base.id, f"{module}.{base.id}") for base in node.bases if isinstance(base, ast.Name)]
            found = {
                each.name: stub_signature(each.args)
                for each in node.body
                if isinstance(each, ast.FunctionDef) and each.name in CONSTRUCTORS
            }
            classes[f"{module}.{node.name}"] = NativeClass(bases, found)
    return classes


def stub_signature(arguments: ast.arguments) -> Signature:
    positional = [*arguments.posonlyargs, *arguments.args]
    defaults = [False] * (len(positional) - len(arguments.defaults)) + [True] * len(arguments.defaults)
    kinds = [Parameter.POSITIONAL_ONLY] * len(arguments.posonlyargs) + [Parameter.POSITIONAL_OR_KEYWORD] * len(arguments.args)
    named = [parameter(each.arg, kind, has_default=has) for each, kind, has in zip(positional, kinds, defaults, strict=True)]
    if arguments.vararg:
        named.append(parameter(arguments.vararg.arg, Parameter.VAR_POSITIONAL))
    for each, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
        named.append(parameter(each.arg, Parameter.KEYWORD_ONLY, has_default=default is not None))
    if arguments.kwarg:
        named.append(parameter(arguments.kwarg.arg, Parameter.VAR_KEYWORD))
    return Signature(named[1:])


def parameter(name: str, kind: Any, *, has_default: bool = False) -> Parameter:
    return Parameter(name, kind, default=... if has_default else Parameter.empty)
