from typing import final

from aerowire.client.lending.lent_image import LentImage

@final
class MessageImage:
    def __init__(self, loan: LentImage) -> None: ...
    @property
    def loan(self) -> LentImage: ...
    @property
    def image_id(self) -> int: ...
