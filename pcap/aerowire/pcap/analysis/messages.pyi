import numpy as np
import numpy.typing as npt

from aerowire.pcap.arrays.blocks import Integers

def whole_messages(inner: npt.NDArray[np.uint8], paths: Integers, flags: Integers, begin: int, end: int) -> npt.NDArray[np.uint8]: ...
