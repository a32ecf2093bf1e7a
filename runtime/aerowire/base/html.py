"""Small tables of HTML for notebooks. Escapes everything; knows nothing of what is shown."""

from __future__ import annotations

import html
from collections.abc import Iterable

from aerowire.base.text import printable

_NUMBER = 'style="text-align:right;font-variant-numeric:tabular-nums"'


def fields_html(caption: str, rows: Iterable[tuple[str, object]]) -> str:
    """Render names and values, one below the other."""
    body = "".join(f"<tr><th>{html.escape(name)}</th>{_cell(value)}</tr>" for name, value in rows)
    return f"<table><caption>{html.escape(caption)}</caption><tbody>{body}</tbody></table>"


def table_html(head: Iterable[str], lines: Iterable[Iterable[object]]) -> str:
    """Render lines below a head."""
    titles = "".join(f"<th>{html.escape(title)}</th>" for title in head)
    body = "".join(f"<tr>{''.join(map(_cell, line))}</tr>" for line in lines)
    return f"<table><thead><tr>{titles}</tr></thead><tbody>{body}</tbody></table>"


def _cell(value: object) -> str:
    if isinstance(value, int):
        return f"<td {_NUMBER}>{value:,}</td>"
    return f"<td>{html.escape(printable(str(value)))}</td>"
