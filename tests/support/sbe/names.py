"""Names that random message schemas have: plain ones, and such as mean something in Python, differ by case or are no ASCII."""

from __future__ import annotations


def _words(text: str) -> list[str]:
    return text.split()


# Names of fields, groups, data and members; those of the second row mean something in Python.
PLAIN = _words("price quantity trader venue flags speed mpg rate notes stamp fooBar foo_bar barFoo x Y aB2 orderId isin leg2 iSin größe")
PYTHON = _words(
    "class def from import lambda None True self global is not async await match print id len int str list dict bytes set type "
    "name value values keys items encode decode encoding schema message field fields copy get decoded header version pack unpack "
    "null meta fill read write"
)
# Types, enums, sets, composites, messages and groups become classes, so these are used once in a schema.
CLASSES = _words(
    "Side Venue Leg Fills Parties Booster Decimal Price9 Rates Stamps Quote Trade Heartbeat Levels Depth Notice Curve Ladder Engine Doors "
    "wheel pedals None True Any Final Optional Message Group Field Decoder Encoder Flyweight IntEnum Struct dataclass memoryview seats "
    "axle order_book OrderBook2 HTTPCall lamps Bolts nuts ORDER_BOOK Straße"
)
VALUES = _words("A B C BUY SELL name None True mro UNKNOWN_1 NULL_VALUE lower Camel real lambda def names members pass a")
CHOICES = _words("first second Third real imag numerator None True name class def bitCount mro pass lambda all FIRST")
# Those of Java among them, with which the generated Java does not compile everywhere.
JAVA = ("class", "import", "int", "null", "true")
