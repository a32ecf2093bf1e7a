import numpy as np
import numpy.typing as npt

from aerowire.pcap.arrays.blocks import Bytes, Integers

_Headers = npt.NDArray[np.uint32]

def read_records(buffer: Bytes, start: int, end: int, little_endian: bool, length_max: int) -> tuple[Integers, _Headers, int, bool]: ...
def walk_blocks(buffer: Bytes, start: int, end: int, little_endian: bool, length_max: int) -> tuple[Integers, int, bool]: ...
