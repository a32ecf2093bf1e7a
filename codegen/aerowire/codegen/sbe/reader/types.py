"""From the `types` of a message schema to declarations: encodings, composites and what they refer to.

Types are read in the official tool's order (encodings, composites, enums, sets), and again whenever something refers to them: a
problem of a type counts once for each time that the official tool reads it.
"""

from __future__ import annotations

from lxml import etree

from aerowire.codegen.primitives import PRIMITIVES
from aerowire.codegen.sbe.reader.declared import (
    NO_OFFSET,
    DeclaredComposite,
    DeclaredEncoding,
    DeclaredEnum,
    DeclaredSet,
    DeclaredType,
)
from aerowire.codegen.sbe.reader.elements import MEMBER_KINDS, TYPE_KINDS, children, local_name, required, shown
from aerowire.codegen.sbe.reader.encodings import read_encoding, read_enum
from aerowire.codegen.sbe.reader.language_names import check_name
from aerowire.codegen.sbe.reader.numerals import NumeralError, parse_int32, shorten
from aerowire.codegen.sbe.reader.report import UnreadableError
from aerowire.codegen.sbe.reader.scope import Scope, common
from aerowire.codegen.sbe.reader.sets import read_set

REFERENCE_DEPTH_MAX = 64  # composites in composites: a schema has two or three
# References that double at every step must not fill the memory: 100,000 members in all, and a value of an enum is a tenth of one.
WEIGHT_MAX, MEMBER_WEIGHT = 1_000_000, 10


def read_types(scope: Scope) -> dict[str, DeclaredType]:
    """Return the types by name; of several with one name the last read counts."""
    report = scope.report
    types: dict[str, DeclaredType] = {
        name: DeclaredEncoding(element=scope.root, name=name, primitive=one) for name, one in PRIMITIVES.items()
    }
    for kind in TYPE_KINDS:
        for element in scope.elements[kind]:
            try:
                declared = TypeReader(scope).read(element)
            except UnreadableError:
                continue
            if declared.name in types:
                report.warning("duplicate-type", element, f"type {declared.name!r} is there already; this one replaces it", "name")
            check_name(scope, element, declared.name)
            types[declared.name] = declared
    return types


class TypeReader:
    """Reads one type of the schema, with everything in it."""

    def __init__(self, scope: Scope) -> None:
        self._scope = scope
        self._report = scope.report

    def read(self, element: etree._Element) -> DeclaredType:
        match local_name(element):
            case "type":
                return read_encoding(self._scope, element)
            case "enum":
                return read_enum(self._scope, element)
            case "set":
                return read_set(self._scope, element)
            case _:
                return self._read_composite(element, "", "", ())

    def _read_composite(self, element: etree._Element, given_name: str, reference: str, path: tuple[str, ...]) -> DeclaredComposite:
        composite = DeclaredComposite(**common(self._scope, element))
        composite.name, composite.reference = given_name or composite.name, reference
        path = (*path, required(self._report, element, "name"))
        self._check_depth(element, path)
        for member in children(element, *MEMBER_KINDS):
            composite.told.add(member.get("name"))
            try:
                self._read_member(composite, member, member, required(self._report, member, "name"), "", "", path)
            except UnreadableError:
                continue
        self._check_offsets(composite)
        return composite

    def _read_member(
        self,
        composite: DeclaredComposite,
        origin: etree._Element,
        element: etree._Element,
        name: str,
        given_name: str,
        reference: str,
        path: tuple[str, ...],
    ) -> DeclaredType | None:
        """Add the member that `element` declares; `origin` is the composite's own child, a `ref` or the element itself."""
        self._weigh(element, MEMBER_WEIGHT)
        member: DeclaredType
        match local_name(element):
            case "type":
                member = read_encoding(self._scope, element, given_name, reference)
            case "enum":
                member = read_enum(self._scope, element, given_name, reference)
            case "set":
                member = read_set(self._scope, element, given_name, reference)
            case "composite":
                member = self._read_composite(element, given_name, reference, path)
            case "ref":
                return self._read_reference(composite, origin, element, path)
            case kind:
                self._report.error("misplaced-member", element, f"{kind} {name!r} within a composite, which has fixed fields only")
                return None
        if isinstance(member, DeclaredEnum | DeclaredSet):
            self._weigh(element, len(member.values))
        if name in composite.members:
            self._report.error("duplicate-member", origin, f"composite {composite.name!r} already has a member {name!r}", "name")
        composite.members[name] = member
        composite.origins[name] = origin
        return member

    def _check_depth(self, element: etree._Element, path: tuple[str, ...]) -> None:
        if len(path) > REFERENCE_DEPTH_MAX:
            self._report.fault("too-deep", element, f"composites are nested more than {REFERENCE_DEPTH_MAX} deep")
            raise UnreadableError

    def _weigh(self, element: etree._Element, weight: int) -> None:
        message = f"composites have more than {WEIGHT_MAX // MEMBER_WEIGHT} members, references expanded"
        self._scope.weight.add(self._report, element, weight, most=WEIGHT_MAX, message=message)

    def _read_reference(
        self, composite: DeclaredComposite, origin: etree._Element, element: etree._Element, path: tuple[str, ...]
    ) -> DeclaredType | None:
        target = required(self._report, element, "type")
        declaration = self._scope.named.get(target)
        if declaration is None:
            hint = self._report.suggest(target, self._scope.named)
            self._report.error("unknown-type", element, f"ref to unknown type {shorten(target)!r}{hint}", "type")
            return None
        if target in path:
            route = " -> ".join([*path[path.index(target) :], target])
            self._report.fault("circular-reference", element, f"circular reference: {route}", "type")
            raise UnreadableError
        name = required(self._report, element, "name")
        if declaration is element:
            self._report.fault("circular-reference", element, f"{shown(element)} refers to itself", "type")
            raise UnreadableError
        with self._report.through(f"ref {name!r} of composite {composite.name!r}"):
            if local_name(declaration) == "ref":
                path = (*path, target)
                self._check_depth(element, path)
            member = self._read_member(composite, origin, declaration, name, name, target, path)
        if member is not None:
            member.offset = self._override(element, "offset", member.offset)
            member.since_version = self._override(element, "sinceVersion", member.since_version)
        return member

    def _override(self, element: etree._Element, attribute: str, value: int) -> int:
        """What a reference says instead of the type that it means; the official tool goes on after a bad number here."""
        text = element.get(attribute)
        if text is None:
            return value
        try:
            return parse_int32(text)
        except NumeralError as error:
            self._report.error("bad-number", element, f"{attribute} of {shown(element)}: {error}", attribute)
            return value

    def _check_offsets(self, composite: DeclaredComposite) -> None:
        offset = 0
        for name, member in composite.members.items():
            if member.offset != NO_OFFSET:
                if member.offset < offset:
                    self._report.error(
                        "bad-offset",
                        composite.origins[name],
                        f"composite {composite.name!r}: member {name!r} has offset {member.offset}, "
                        f"but what precedes it takes {offset} bytes",
                        "offset",
                    )
                offset = member.offset
            offset += member.encoded_length
