"""Layouts drawn with characters, four bytes a row, as RFCs draw them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from aerowire.codegen.problems import printable

ROW = 4
WIDTH = 15  # characters of one byte, without the line beside it
FOLDED_FROM = 4  # whole rows of one member, from which on only the first and the last are drawn


@dataclass(frozen=True, slots=True)
class Cell:
    """A member of a fixed block."""

    name: str
    offset: int
    size: int


def draw(cells: Sequence[Cell], length: int, behind: Sequence[str] = ()) -> str:
    """Draw a block of `length` bytes, and below it what is `behind` it, whose place is not fixed."""
    rows = _rows(_filled([Cell(printable(one.name), one.offset, one.size) for one in cells], length))
    labels = _labels(rows)
    lines: list[str] = []
    above: list[_Piece] = []
    number = 0
    if rows:
        lines.append(" " + "".join(f"{byte:<{WIDTH + 1}}" for byte in range(ROW)).rstrip())
    while number < len(rows):
        row = rows[number]
        lines.append(_border(above, row))
        lines.append(_line(row, labels[number]) + f" {number * ROW:>5}")
        above = row
        folded = _whole_rows(rows, number)
        if folded >= FOLDED_FROM:
            lines.append(f":{'...':^{ROW * (WIDTH + 1) - 1}}:")
            number += folded - 2
        number += 1
    edge = "+" + "-" * (ROW * (WIDTH + 1) - 1) + "+"
    lines.append(edge if behind else _border(above, []))
    for text in behind:
        lines.append(f"|{_fit(printable(text), ROW * (WIDTH + 1) - 1)}|" + " " * 6)
        lines.append(edge)
    return "\n".join(line.rstrip() for line in lines)


@dataclass(frozen=True, slots=True)
class _Piece:
    """The part of a cell that lies in one row: `owner` is the cell's number, `first` to `last` the bytes of the row."""

    owner: int
    name: str
    first: int
    last: int


def _filled(cells: Sequence[Cell], length: int) -> list[Cell]:
    """The cells in order, with what lies between them and behind them."""
    found: list[Cell] = []
    at = 0
    for cell in sorted((one for one in cells if one.size), key=lambda one: one.offset):
        if cell.offset > at:
            found.append(Cell("(unused)", at, cell.offset - at))
        found.append(cell)
        at = max(at, cell.offset + cell.size)
    if length > at:
        found.append(Cell("(unused)", at, length - at))
    return found


def _rows(cells: Sequence[Cell]) -> list[list[_Piece]]:
    end = max((cell.offset + cell.size for cell in cells), default=0)
    rows: list[list[_Piece]] = [[] for _ in range(-(-end // ROW))]
    for owner, cell in enumerate(cells):
        for number in range(cell.offset // ROW, (cell.offset + cell.size - 1) // ROW + 1):
            first = max(cell.offset - number * ROW, 0)
            last = min(cell.offset + cell.size - number * ROW, ROW) - 1
            rows[number].append(_Piece(owner, cell.name, first, last))
    return rows


def _labels(rows: Sequence[Sequence[_Piece]]) -> list[set[int]]:
    """Per row, the cells whose name stands in it: the first of the rows where the cell is widest."""
    widest: dict[int, tuple[int, int]] = {}
    for number, row in enumerate(rows):
        for piece in row:
            width = piece.last - piece.first + 1
            if width > widest.get(piece.owner, (0, 0))[0]:
                widest[piece.owner] = (width, number)
    return [{piece.owner for piece in row if widest[piece.owner][1] == number} for number, row in enumerate(rows)]


def _whole_rows(rows: Sequence[Sequence[_Piece]], number: int) -> int:
    """How many rows from here on belong to one cell alone."""
    owner = rows[number][0].owner
    found = 0
    while number + found < len(rows) and len(rows[number + found]) == 1:
        piece = rows[number + found][0]
        if piece.owner != owner or piece.last - piece.first + 1 < ROW:
            break
        found += 1
    return found


def _line(row: Sequence[_Piece], labels: set[int]) -> str:
    out = ""
    for piece in row:
        width = (piece.last - piece.first + 1) * (WIDTH + 1) - 1
        out += "|" + _fit(piece.name if piece.owner in labels else "", width)
    return f"{out + '|':<{ROW * (WIDTH + 1) + 1}}"


def _fit(text: str, width: int) -> str:
    if len(text) > width:
        text = text[: width - 1] + "~"
    return f"{text:^{width}}"


def _owners(row: Sequence[_Piece]) -> list[int | None]:
    """The cell of each byte of a row."""
    found: list[int | None] = [None] * ROW
    for piece in row:
        found[piece.first : piece.last + 1] = [piece.owner] * (piece.last - piece.first + 1)
    return found


def _border(above: Sequence[_Piece], below: Sequence[_Piece]) -> str:
    """The line between two rows, open where one cell goes on from the one to the other."""
    upper, lower = _owners(above), _owners(below)
    is_open = [upper[byte] == lower[byte] for byte in range(ROW)]
    out = ""
    for byte in range(ROW + 1):
        sides = is_open[max(byte - 1, 0) : byte + 1]
        is_cell = any(owners[max(byte - 1, 0) : byte + 1] != [None] * len(sides) for owners in (upper, lower))
        is_edge = byte in {0, ROW} or any(owners[byte - 1] != owners[byte] for owners in (upper, lower))
        joint = "+" if is_cell and (not all(sides) or byte in {0, ROW}) else "|" if is_edge and is_cell else " "
        out += joint + (("" if byte == ROW else " " if is_open[byte] else "-") * WIDTH)
    return out
