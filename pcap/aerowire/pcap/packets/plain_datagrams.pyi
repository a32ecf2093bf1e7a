from aerowire.pcap.arrays.blocks import Bytes, Integers, Mask

def find_plain_datagrams(
    buffer: Bytes, starts: Integers, ends: Integers, ethertype_at: int, network_at: int, mark: bytes
) -> tuple[Integers, Integers, Integers, Integers, Bytes, Bytes, Mask, Mask]: ...
