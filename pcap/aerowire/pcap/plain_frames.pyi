import numpy as np
import numpy.typing as npt

from aerowire.pcap.blocks import Bytes, Integers

def find_plain_frames(
    buffer: Bytes, starts: Integers, lengths: Integers, captured_ends: Integers, layout: tuple[int, ...], controls: Integers
) -> tuple[Integers, Integers, Integers, Integers, npt.NDArray[np.uint8]]: ...
