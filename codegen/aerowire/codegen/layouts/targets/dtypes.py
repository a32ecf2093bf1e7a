"""NumPy structured dtypes of the fixed parts, with every offset as in the schema."""

from __future__ import annotations

from dataclasses import dataclass

from aerowire.codegen.layouts.ir import Field, Schema, Struct
from aerowire.codegen.layouts.targets.base import LayoutProject
from aerowire.codegen.names import upper
from aerowire.codegen.rendering.base import header, module_path, package_files, render

FORMATS = {"float": "f4", "double": "f8", "char": "u1"}


@dataclass(frozen=True)
class DtypeView:
    """One dtype; `formats` are Python expressions."""

    name: str
    description: str
    names: tuple[str, ...]
    formats: tuple[str, ...]
    offsets: tuple[int, ...]
    itemsize: int


class DtypesTarget:
    """Renders one module per schema."""

    name = "dtypes"

    def render(self, project: LayoutProject) -> dict[str, str]:
        files = package_files(self.name, "NumPy structured dtypes, one module per schema.")
        for schema in project.schemas:
            files[module_path(self.name, schema.package)] = render(
                "layouts/templates/dtypes.py.j2",
                header=header(f"{schema.package}.xml"),
                description=schema.description,
                dtypes=[view for struct in schema.structs for view in _dtypes(schema, struct)],
                tables=[
                    (upper(variant.name), variant.description, [(case.value, upper(case.struct)) for case in variant.cases if case.struct])
                    for variant in schema.variants
                ],
            )
        return files


def _dtypes(schema: Schema, struct: Struct) -> list[DtypeView]:
    views = [_dtype(schema, struct, struct.fixed_fields)]
    if struct.tail_fields:
        views.append(_dtype(schema, struct, struct.fields))
    return views


def _dtype(schema: Schema, struct: Struct, fields: tuple[Field, ...]) -> DtypeView:
    """The dtype of some fields; with tail fields it is called FULL."""
    is_full = any(field.is_tail for field in fields)
    members = [(field.offset, field.name, _format(schema, field)) for field in fields]
    members += [(one.offset or 0, one.name, repr(("u1", (one.length,)))) for one in struct.fixed_variants]
    members.sort()
    return DtypeView(
        name=f"{upper(struct.name)}_FULL" if is_full else upper(struct.name),
        description=f"{struct.description}  With every tail field." if is_full else struct.description,
        names=tuple(member[1] for member in members),
        formats=tuple(member[2] for member in members),
        offsets=tuple(member[0] for member in members),
        itemsize=struct.full_length if is_full else struct.length,
    )


def _format(schema: Schema, field: Field) -> str:
    name = field.primitive.name
    code = FORMATS.get(name) or f"{'i' if field.primitive.signed else 'u'}{field.primitive.size}"
    order = "" if field.primitive.size == 1 else ">" if schema.byte_order == "bigEndian" else "<"
    text = f"{order}{code}"
    return repr(text) if field.count is None else repr((text, (field.count,)))
