"""What every target shares: the template environment and the two files of a package."""

from __future__ import annotations

import functools

import jinja2

from aerowire.codegen.mark import mark
from aerowire.codegen.names import upper

PACKAGE = "aerowire/codecs"
# Pages of this folder are documentation of the project: in a checkout they lie beside generated/, elsewhere in the output folder.
DOCUMENTS = "docs/protocol"


@functools.cache
def environment() -> jinja2.Environment:
    """Templates go by their paths below this package, fail on an unknown name and keep their white space as written."""
    made = jinja2.Environment(
        loader=jinja2.PackageLoader("aerowire.codegen", ""),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,
    )
    made.filters["literal"] = repr
    made.filters["upper_snake"] = upper
    made.filters["as_dict"] = lambda pairs: repr(dict(pairs))
    return made


def render(template: str, **values: object) -> str:
    """Fill a template; runs of blank lines become one inside a block and at most two outside."""
    text = environment().get_template(template).render(**values)
    out: list[str] = []
    blanks = 0
    for line in text.rstrip().split("\n"):
        if not line.strip():
            blanks += 1
            continue
        out += [""] * min(blanks, 1 if line[0] in " )}]" else 2)
        out.append(line.rstrip())
        blanks = 0
    return "\n".join(out) + "\n"


def package_files(target: str, description: str) -> dict[str, str]:
    """`__init__.py` and `py.typed` of a target's sub-package."""
    text = f'"""{description}\n\n{mark()}\n"""\n'
    return {f"{PACKAGE}/{target}/__init__.py": text, f"{PACKAGE}/{target}/py.typed": ""}


def module_path(target: str, module: str, suffix: str = ".py") -> str:
    return f"{PACKAGE}/{target}/{module}{suffix}"


def header(source: str) -> str:
    """The first line of every generated file, after its comment mark."""
    return mark(f"spec/{source}")
