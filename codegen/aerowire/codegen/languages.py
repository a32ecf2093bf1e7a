"""The languages whose rules for names a schema can be checked against.

The arguments of a command and their help need only these; `sbe.reader.language_names` has the rules.
"""

from __future__ import annotations

LANGUAGES = ("cpp", "java", "golang", "csharp")
