from aerowire.pcap.arrays.blocks import Bytes, Integers, Mask

def find_plain_frames(
    buffer: Bytes, starts: Integers, lengths: Integers, captured_ends: Integers, layout: tuple[int, ...], controls: Integers
) -> tuple[Integers, Integers, Integers, Integers, Mask]: ...
