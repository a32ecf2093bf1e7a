"""Members of structs: fields at fixed offsets, then what moves.  Checks that nothing overlaps and that every name is known."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from lxml import etree

from aerowire.codegen.document import elements
from aerowire.codegen.layouts.ir import BitRange, Case, Dynamic, Field, Repeat, Struct, Var, Variant
from aerowire.codegen.primitives import PRIMITIVES, Primitive

if TYPE_CHECKING:
    from aerowire.codegen.layouts.resolve import Scope

AW = "{urn:aerowire:layout}"
STRUCT_LENGTH_MAX = 1 << 20  # a struct is a header or a record, drawn byte by byte; what is longer is a section of a region
# A member is compared with those in front of it, and a struct has a copy of those that it inherits; a frame has some twenty.
MEMBERS_MAX, MEMBERS_OF_FILE_MAX = 1_000, 20_000
SNAKE = re.compile(r"[a-z][a-z0-9_]*\Z")


class _Builder:
    """One struct while its members are read, in order."""

    def __init__(self, parent: Struct | None) -> None:
        self.fields: list[Field] = list(parent.fields) if parent else []
        self.fixed_variants: list[Variant] = list(parent.fixed_variants) if parent else []
        self.dynamic: list[Dynamic] = list(parent.dynamic) if parent else []

    @property
    def names(self) -> set[str]:
        return {member.name for member in (*self.fields, *self.fixed_variants, *self.dynamic)}

    @property
    def tail(self) -> str | None:
        """The last field so far that is only there when the struct is long enough."""
        return next((field.name for field in reversed(self.fields) if field.is_tail), None)

    @property
    def end(self) -> int:
        """Where the fixed part ends so far."""
        ends = [field.offset + field.size for field in self.fields]
        return max([0, *ends, *(variant.offset + (variant.length or 0) for variant in self.fixed_variants if variant.offset is not None)])

    def overlap(self, offset: int, size: int) -> str | None:
        for field in self.fields:
            if field.offset < offset + size and offset < field.offset + field.size:
                return field.name
        for variant in self.fixed_variants:
            start, length = variant.offset or 0, variant.length or 0
            if start < offset + size and offset < start + length:
                return variant.name
        return None


class Members:
    """Resolves struct elements of one file; references to other structs are checked once all of them are known."""

    def __init__(self, scope: Scope) -> None:
        self.scope = scope
        self.references: list[tuple[etree._Element, str]] = []
        self._count = 0

    def resolve(self, element: etree._Element) -> Struct | None:
        """Return the struct that `element` describes; problems go to the scope."""
        name = element.get("name")
        parent_name = element.get("extends")
        parent = self.scope.structs.get(parent_name) if parent_name else None
        builder = _Builder(parent)
        for child in elements(element):
            tag = str(child.tag).removeprefix(AW)
            if tag == "refine":
                self._refine(child, builder)
            elif tag == "field":
                self._field(child, builder)
            elif tag == "var":
                self._var(child, builder)
            elif tag == "repeat":
                self._repeat(child, builder)
            elif tag == "variant":
                self._variant(child, builder)
            if len(builder.names) > MEMBERS_MAX:
                self.scope.report(child, f"struct {name!r} has more than {MEMBERS_MAX} members, inherited ones counted")
                break
        self._count += len(builder.names)
        if self._count > MEMBERS_OF_FILE_MAX:
            self.scope.report(element, f"the structs have more than {MEMBERS_OF_FILE_MAX} members in all, inherited ones counted")
            return None
        length = self._length(element, builder)
        end = max(length, builder.end)
        if end > STRUCT_LENGTH_MAX:
            self.scope.report(element, f"struct {name!r} ends at {end}; a struct has {STRUCT_LENGTH_MAX} bytes at most")
        align = self.scope.alignment(element)
        if name is None:
            return None
        return Struct(
            name=name,
            description=element.get("description", ""),
            length=length,
            align=align,
            fields=tuple(builder.fields),
            fixed_variants=tuple(builder.fixed_variants),
            dynamic=tuple(builder.dynamic),
            parent=parent_name,
        )

    def check_references(self) -> None:
        for element, name in self.references:
            if name not in self.scope.structs and name not in self.scope.declared:
                self.scope.report(element, f"struct {name!r} is not declared in this file")
            elif element.tag == f"{AW}repeat" and name in self.scope.structs and not self.scope.structs[name].length:
                self.scope.report(element, f"{element.get('name')!r} repeats {name!r}, whose fixed part is empty: there would be no end")

    def _length(self, element: etree._Element, builder: _Builder) -> int:
        fixed_ends = [field.offset + field.size for field in builder.fields if not field.is_tail]
        fixed_ends += [(variant.offset or 0) + (variant.length or 0) for variant in builder.fixed_variants]
        end = max([0, *fixed_ends])
        declared = self.scope.size(element, "length")
        if declared is not None and declared < end:
            self.scope.report(element, f"length {declared} is less than its members need, which end at {end}")
        return end if declared is None else max(declared, end)

    def _new_name(self, element: etree._Element, builder: _Builder) -> str | None:
        name = element.get("name")
        if name is None:
            return None
        if not SNAKE.match(name):
            self.scope.report(element, f"name {name!r} must be in snake_case")
            return None
        if name in builder.names:
            self.scope.report(element, f"name {name!r} stands twice in the struct")
            return None
        return name

    def _value_type(self, element: etree._Element) -> tuple[Primitive, str | None, dict[str, int]] | None:
        """The primitive, the enum or set, and the names that a default may use."""
        name = element.get("type")
        if name is None:
            return None
        if name in PRIMITIVES:
            return PRIMITIVES[name], None, {}
        found = self.scope.enums.get(name) or self.scope.sets.get(name)
        if found is not None:
            return found.primitive, name, self.scope.values[name]
        self.scope.report(element, f"type {name!r} is neither a primitive nor an enum or set of this file")
        return None

    def _refine(self, element: etree._Element, builder: _Builder) -> None:
        index = next((i for i, field in enumerate(builder.fields) if field.name == element.get("field")), None)
        if index is None:
            self.scope.report(element, f"refines {element.get('field')!r}, which the struct does not inherit")
            return
        old = builder.fields[index]
        found = self._value_type(element)
        if found is None:
            return
        primitive, kind, names = found
        if primitive != old.primitive:
            self.scope.report(element, f"type {element.get('type')!r} is {primitive.name}, but the field is {old.primitive.name}")
        default = self._default(element, old.primitive, old.count, names)
        builder.fields[index] = replace(
            old,
            description=element.get("description") or old.description,
            kind=kind or old.kind,
            default=old.default if default is None else default,
        )

    def _field(self, element: etree._Element, builder: _Builder) -> None:
        name = self._new_name(element, builder)
        found = self._value_type(element)
        offset = self._offset(element, builder)
        count = self.scope.size(element, "count", 1)
        is_tail = element.get("presence") == "tail"
        if builder.dynamic:
            self.scope.report(element, f"field {element.get('name')!r} follows {builder.dynamic[-1].name!r}, whose end is not fixed")
        if name is None or found is None:
            return
        primitive, kind, names = found
        size = primitive.size * (1 if count is None else count)
        other = builder.overlap(offset, size)
        if other is not None:
            self.scope.report(element, f"field {name!r} at {offset} to {offset + size} overlaps {other!r}")
        if not is_tail and (tail := builder.tail) is not None:
            self.scope.report(element, f"field {name!r} follows {tail!r}, which is not always there")
        builder.fields.append(
            Field(
                name=name,
                primitive=primitive,
                offset=offset,
                description=element.get("description", ""),
                count=count,
                kind=kind,
                default=self._default(element, primitive, count, names),
                is_tail=is_tail,
                role=self._role(element, primitive, count, builder),
                access=element.get("access", ""),
                bits=self._bits(element, primitive),
            )
        )

    def _default(self, element: etree._Element, primitive: Primitive, count: int | None, names: dict[str, int]) -> int | None:
        default = self.scope.literal(element, "default", names)
        if default is not None and count is not None:
            self.scope.report(element, "an array has no default")
        elif default is not None and not primitive.is_float and not primitive.minimum <= default <= primitive.maximum:
            self.scope.report(element, f"default {default} does not fit {primitive.name}")
        return default

    def _role(self, element: etree._Element, primitive: Primitive, count: int | None, builder: _Builder) -> str:
        role = element.get("role", "")
        taken = next((field.name for field in builder.fields if role and field.role == role), None)
        if taken is not None:
            self.scope.report(element, f"role {role!r} is that of {taken!r} already")
        if role and (primitive.is_float or count is not None):
            self.scope.report(element, f"role {role!r} needs one integer")
        return role

    def _bits(self, element: etree._Element, primitive: Primitive) -> tuple[BitRange, ...]:
        found: list[BitRange] = []
        for child in elements(element):
            low, high = self.scope.integer(child, "low"), self.scope.integer(child, "high")
            read_as = self.scope.primitive(child, "type")
            if low is None or high is None or read_as is None:
                continue
            if not 0 <= low <= high < 8 * primitive.size:
                self.scope.report(child, f"bits {low} to {high} do not lie within {primitive.name}")
            elif high - low + 1 > 8 * read_as.size:
                self.scope.report(child, f"bits {low} to {high} do not fit {read_as.name}")
            elif any(low <= other.high and other.low <= high for other in found):
                self.scope.report(child, f"bits {low} to {high} overlap another range of the field")
            else:
                found.append(BitRange(child.get("name", ""), low, high, read_as, child.get("description", "")))
        return tuple(found)

    def _offset(self, element: etree._Element, builder: _Builder) -> int:
        """The declared offset, else the end of the fixed part."""
        offset = self.scope.integer(element, "offset")
        if offset is not None and offset < 0:
            self.scope.report(element, f"offset {offset} is negative")
            return 0
        return builder.end if offset is None else offset

    def _dynamic_offset(self, element: etree._Element, builder: _Builder, prefix: int = 0) -> int | None:
        """Where a moving member starts, when it is the first one; its bytes must not fall into the fixed part."""
        offset = self.scope.integer(element, "offset")
        if builder.tail is not None:
            self.scope.report(element, f"{element.get('name')!r} follows {builder.tail!r}, which is not always there")
        if builder.dynamic:
            if _takes_rest(builder.dynamic[-1]):
                self.scope.report(element, f"{element.get('name')!r} follows {builder.dynamic[-1].name!r}, which takes all that is left")
            if offset is not None:
                self.scope.report(element, f"offset of {element.get('name')!r} is not fixed: it follows {builder.dynamic[-1].name!r}")
            return None
        start = builder.end + prefix if offset is None else offset
        if start - prefix < builder.end:
            self.scope.report(element, f"{element.get('name')!r} at {start} falls into the fixed part, which ends at {builder.end}")
        return start

    def _integer_field(self, element: etree._Element, attribute: str, builder: _Builder) -> str | None:
        name = element.get(attribute)
        field = next((field for field in builder.fields if field.name == name), None)
        if field is None or field.count is not None or field.primitive.is_float:
            self.scope.report(element, f"{attribute} names {name!r}, which is no integer field before it")
            return None
        return name

    def _var(self, element: etree._Element, builder: _Builder) -> None:
        name = self._new_name(element, builder)
        prefix = self.scope.primitive(element, "lengthType")
        length = element.get("length")
        if (prefix is None) == (length is None) and element.get("lengthType") in PRIMITIVES:
            self.scope.report(element, f"{element.get('name')!r} needs either lengthType or length")
        # A name that is unknown was reported; it is kept, so that the member does not count as one that takes all that is left.
        field = None if length in (None, "rest") else self._integer_field(element, "length", builder) or length
        if prefix is not None and prefix.is_float:
            self.scope.report(element, f"lengthType {prefix.name!r} is no integer")
        offset = self._dynamic_offset(element, builder, prefix.size if prefix else 0)
        if name is None:
            return
        builder.dynamic.append(
            Var(
                name=name,
                description=element.get("description", ""),
                offset=offset,
                prefix=prefix,
                length_field=field,
                align=self.scope.alignment(element),
                encoding=element.get("encoding", ""),
                max_length=self.scope.size(element, "maxLength"),
            )
        )

    def _repeat(self, element: etree._Element, builder: _Builder) -> None:
        name = self._new_name(element, builder)
        struct = element.get("struct")
        named = element.get("count")
        is_field = named is not None and SNAKE.match(named) is not None
        field = (self._integer_field(element, "count", builder) or named) if is_field else None
        count = None if is_field else self.scope.size(element, "count", 1)
        if (named is None) == (element.get("until") is None):
            self.scope.report(element, f"{element.get('name')!r} needs either count or until")
        offset = self._dynamic_offset(element, builder)
        if name is None or struct is None:
            return
        self.references.append((element, struct))
        align = self.entry_alignment(struct)
        builder.dynamic.append(Repeat(name, element.get("description", ""), offset, struct, field, count, align))

    def entry_alignment(self, struct: str) -> int:
        """The alignment that a struct of this file asks for, also before it is resolved."""
        declared = self.scope.declared.get(struct)
        return 1 if declared is None else self.scope.alignment(declared)

    def _variant(self, element: etree._Element, builder: _Builder) -> None:
        name = self._new_name(element, builder)
        on = self._integer_field(element, "on", builder)
        kind = next((field.kind for field in builder.fields if field.name == on), None)
        length = self.scope.size(element, "length", 1)
        offset = self._dynamic_offset(element, builder) if length is None else self._offset(element, builder)
        cases = self.cases(element, kind)
        if name is None or on is None:
            return
        if length is not None and (other := builder.overlap(offset or 0, length)) is not None:
            self.scope.report(element, f"variant {name!r} at {offset} overlaps {other!r}")
        enum = kind if kind in self.scope.enums else None
        variant = Variant(name, element.get("description", ""), on, enum, offset, length, cases)
        if length is None:
            builder.dynamic.append(variant)
        else:
            builder.fixed_variants.append(variant)

    def cases(self, element: etree._Element, kind: str | None) -> tuple[Case, ...]:
        """The arms of a variant; each value once, by number or by its name in the enum `kind`."""
        if element.get("table") is not None:
            return self._table_cases(element)
        numbers = self.scope.value_names.get(kind or "", {})
        names = self.scope.values[kind] if kind and numbers else {}
        found: dict[int, Case] = {}
        for child in elements(element):
            text = child.get("value")
            struct = child.get("struct")
            length = self.scope.size(child, "length")
            if text is None:
                continue
            if (struct is None) == (child.get("length") is None):
                self.scope.report(child, f"case {text!r} needs either struct or length")
            if text in names:
                value: int | None = names[text]
            elif re.match(r"[A-Za-z]", text):
                self.scope.report(child, f"case {text!r} is no value of {kind or 'an enum'}")
                continue
            else:
                value = self.scope.integer(child, "value")
            if value is None:
                continue
            if value in found:
                self.scope.report(child, f"case {text!r} stands twice")
            if struct is not None:
                self.references.append((child, struct))
            found[value] = Case(value, numbers.get(value, ""), struct, length)
        return tuple(found.values())

    def _table_cases(self, element: etree._Element) -> tuple[Case, ...]:
        """The arms that the counters table gives: a type id, and the struct of its key."""
        if self.scope.counters is None:
            self.scope.report(element, f"table {element.get('table')!r}: no counters.xml beside this file")
            return ()
        if len(element):
            self.scope.report(element, "a variant with a table has no cases of its own")
        rows = [row for row in self.scope.counters.types if row.key]
        self.references += [(element, row.key) for row in rows]
        return tuple(Case(row.id, row.name, row.key, None) for row in rows)


def _takes_rest(member: Dynamic) -> bool:
    if isinstance(member, Repeat):
        return member.count_field is None and member.count is None
    return isinstance(member, Var) and member.prefix is None and member.length_field is None
