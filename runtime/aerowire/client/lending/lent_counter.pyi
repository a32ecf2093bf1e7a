from typing import final

from aerowire.client.handles.counter import Counter
from aerowire.client.handles.loan import Loan

@final
class LentCounter(Loan):
    def __init__(self, counter: Counter) -> None: ...
    def store(self, value: int) -> bool: ...
