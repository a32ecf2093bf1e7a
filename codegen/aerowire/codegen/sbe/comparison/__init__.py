"""Two versions of a message schema side by side: what changed, and whose readers that breaks."""

from aerowire.codegen.sbe.comparison.changes import Side
from aerowire.codegen.sbe.comparison.schemas import Comparison, compare_schemas

__all__ = ["Comparison", "Side", "compare_schemas"]
