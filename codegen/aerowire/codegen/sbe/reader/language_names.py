"""Names that other languages cannot use.  Asked for by a user whose schema also feeds their generators.

The words are those that each language reserves, and the letters those that its names may have, as the official tool sees them.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable

from lxml import etree

from aerowire.codegen.sbe.reader.numerals import shorten
from aerowire.codegen.sbe.reader.scope import Scope

_WORDS = {
    "cpp": """
    alignas alignof and and_eq asm assert atomic_cancel atomic_commit atomic_noexcept auto bitand bitor bool break case catch char
    char16_t char32_t char8_t class co_await co_return co_yield compl concept const const_cast consteval constexpr constinit continue
    contract_assert decltype default delete do double dynamic_cast else enum explicit export extern false float for friend goto if
    inline int long mutable namespace new noexcept not not_eq nullptr operator or or_eq private protected public reflexpr register
    reinterpret_cast requires return short signed sizeof static static_assert static_cast struct switch synchronized template this
    thread_local throw true try typedef typeid typename union unsigned using virtual void volatile wchar_t while xor xor_eq
    """,
    "java": """
    _ abstract assert boolean break byte case catch char class const continue default do double else enum extends false final finally
    float for goto if implements import instanceof int interface long native new null package private protected public return short
    static strictfp super switch synchronized this throw throws transient true try void volatile while
    """,
    "golang": """
    String _ append bool break byte cap case chan close complex complex128 complex64 const continue copy default defer delete else error
    fallthrough false float32 float64 for func go goto if imag import int int16 int32 int64 int8 interface iota len make map new nil
    package panic print println range real recover return rune select string struct switch true type uint uint16 uint32 uint64 uint8
    uintptr var
    """,
    "csharp": """
    abstract as base bool break byte case catch char checked class const continue decimal default delegate do double else enum event
    explicit extern false finally fixed float for foreach goto if implicit in int interface internal is lock long namespace new null
    object operator out override params private protected public readonly ref return sbyte sealed short sizeof stackalloc static string
    struct switch this throw true try typeof uint ulong unchecked unsafe ushort using virtual void volatile while
    """,
}
_RESERVED = {language: frozenset(words.split()) for language, words in _WORDS.items()}

_LETTER = frozenset({"Lu", "Ll", "Lt", "Lm", "Lo"})
_JAVA_START = _LETTER | {"Nl", "Sc", "Pc"}
_JAVA_PART = _JAVA_START | {"Nd", "Mc", "Mn", "Cf"}
_CSHARP_PART = _LETTER | {"Mn", "Mc", "Nd", "Pc", "Cf"}


def _is_plain(name: str, reserved: frozenset[str]) -> bool:
    """Letters, digits and underscores (a digit may come first, as far as the official tool is concerned)."""
    return name not in reserved and all(one == "_" or unicodedata.category(one) in _LETTER | {"Nd"} for one in _units(name))


def _is_java(name: str) -> bool:
    """A name, or several with dots between."""
    return all(part and part not in _RESERVED["java"] and all(_is_java_part(one) for one in _units(part)) for part in name.split("."))


def _is_java_part(one: str) -> bool:
    is_ignorable = one <= "\x08" or "\x0e" <= one <= "\x1b" or "\x7f" <= one <= "\x9f"
    return is_ignorable or unicodedata.category(one) in _JAVA_PART


def _is_csharp(name: str) -> bool:
    return name not in _RESERVED["csharp"] and all(one in "_@" or unicodedata.category(one) in _CSHARP_PART for one in _units(name))


def _units(name: str) -> str:
    """The name with a surrogate for each character beyond the first 65,536: the official tool looks at halves of those."""
    return "".join(one if ord(one) <= 0xFFFF else "\ud800" for one in name)


LANGUAGES: dict[str, tuple[str, Callable[[str], bool]]] = {
    "cpp": ("C++", lambda name: _is_plain(name, _RESERVED["cpp"])),
    "java": ("Java", _is_java),
    "golang": ("Golang", lambda name: _is_plain(name, _RESERVED["golang"])),
    "csharp": ("C#", _is_csharp),
}


def check_name(scope: Scope, element: etree._Element, name: str) -> None:
    """Warn of a name for each of the scope's languages that cannot have it."""
    for language in scope.languages:
        title, is_valid = LANGUAGES[language]
        if not is_valid(name):
            scope.report.warning("invalid-name", element, f"name {shorten(name)!r} is not valid for {title}", "name")
