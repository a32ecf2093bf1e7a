"""The rules that a capture can be held to, by the id of the catalogue's case that demands the same of a live driver.

A case asks what a driver answers to a stimulus; a capture shows what was sent. So a rule here is the part of the case that
holds for whatever was sent, and what it says is narrower than the case's requirement.
"""

from __future__ import annotations

RULES: dict[str, str] = {
    "A01": "A status message that asks for a SETUP has flag 0x80 alone, term, offset and window 0.",
    "A02": "A receiver asks for the SETUP of a session at most once a second.",
    "A07": "A status message fits its stream: an aligned offset within the term, a window up to half a term.",
    "A10": "A receiver repeats its status message at least every 200 ms while its image lives.",
    "A15": "A status message is 36 bytes long, or 44 with a group tag.",
    "B01": "A SETUP is repeated every 100 ms until the first status message.",
    "B02": "A SETUP describes its stream: lengths within their limits, always the same.",
    "B03": "A SETUP to a multicast group has the group flag.",
    "B05": "A sender that begins sends no data and no heartbeat before the first status message.",
    "B08": "SETUPs of a stream to a destination are at least 100 ms apart.",
    "B17": "A receiver's consumption never falls back, nor does it pass what was sent.",
    "C03": "Fragments of a message follow each other from its beginning to its end.",
    "C06": "A datagram of data holds whole frames of one session and stream, and no more bytes than the MTU.",
    "C08": "Each frame of a datagram begins where the one before it ends, within the term.",
    "E01": "A NAK names bytes of one term that were sent, aligned.",
    "E03": "A NAK is sent for what is missing: data behind it has come, and the receiver has not consumed it.",
    "E12": "NAKs and status messages go to the sender, or to the group's control address.",
    "F01": "Data is sent again only where a NAK asked for it.",
    "F02": "What was sent again is not sent once more within the linger of 10 ms.",
    "H01": "A sender never sends data beyond what a receiver's window allows.",
    "K01": "An RTTM reply repeats the timestamp of a request.",
    "L01": "While a stream lives its sender is never silent for more than 100 ms, and its heartbeats are no closer.",
    "L02": "A heartbeat is a DATA header of length zero at the sender's position.",
    "L03": "The end of a stream is final: one position, no data beyond it, and never taken back.",
    "L08": "A receiver that has announced the end says nothing else afterwards.",
    "M00": "Every datagram between drivers is a well-formed frame: version, type, length, known flags.",
    "Q01": "An ERR fits its length, comes every 200 ms, and ends the receiver's status messages.",
    "S01": "A RES frame holds whole entries with an address and a name.",
    "T01": "An RSP_SETUP answers a SETUP that asks for one, at most every 100 ms.",
}
