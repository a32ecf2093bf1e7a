from enum import IntEnum
from typing import final

class Tether(IntEnum):
    TETHERED = 0
    REJOINS = 1
    LEAVES = 2

@final
class UntetheredSubscriptions: ...
