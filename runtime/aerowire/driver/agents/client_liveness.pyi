from typing import final

@final
class ClientLiveness: ...
