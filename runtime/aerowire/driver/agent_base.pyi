from typing import final

@final
class PointerArray: ...
