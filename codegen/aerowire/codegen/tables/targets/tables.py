"""Tables as Python: options, counters with the forms of their labels, error codes."""

from __future__ import annotations

from dataclasses import dataclass

from aerowire.codegen.mark import mark
from aerowire.codegen.rendering.base import header, module_path, package_files, render
from aerowire.codegen.tables.resolve_tables import label_pattern
from aerowire.codegen.tables.tables import CounterTable
from aerowire.codegen.tables.targets.base import TableProject


@dataclass(frozen=True)
class LabelView:
    """A counter type with a label: the format, what may follow it, and the expression that reads both back."""

    name: str
    label: str
    suffix: str
    pattern: str


class TablesTarget:
    """Renders one module per table, and one with the type that rows of options have."""

    name = "tables"

    def render(self, project: TableProject) -> dict[str, str]:
        files = package_files(self.name, "Options, counters and error codes as tables.")
        tables = project.tables
        if tables.options:
            files[module_path(self.name, "option")] = render("tables/templates/option.py.j2", header=mark())
        for options in tables.options:
            files[module_path(self.name, options.name)] = render(
                "tables/templates/options.py.j2", header=header(f"{options.name}.xml"), table=options
            )
        if tables.counters is not None:
            files[module_path(self.name, "counters")] = render(
                "tables/templates/counters.py.j2",
                header=header("counters.xml"),
                table=tables.counters,
                labels=_labels(tables.counters),
                suffixed=[row for row in tables.counters.system if row.suffix],
                integers=[field.name for field in tables.counters.fields if field.kind == "int"],
            )
        for errors in tables.errors:
            files[module_path(self.name, errors.name)] = render(
                "tables/templates/errors.py.j2", header=header(f"{errors.name}.xml"), table=errors
            )
        return files


def _labels(table: CounterTable) -> list[LabelView]:
    return [
        LabelView(row.name, row.label, row.suffix, label_pattern(row.label, row.suffix, table.fields)) for row in table.types if row.label
    ]
