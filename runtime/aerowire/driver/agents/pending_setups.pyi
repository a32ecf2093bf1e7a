from typing import final

@final
class PendingSetups: ...
