"""All targets for message schemas, by name."""

from __future__ import annotations

from aerowire.codegen.sbe.targets.arrow import ArrowMessageTarget
from aerowire.codegen.sbe.targets.base import MessageTarget
from aerowire.codegen.sbe.targets.dtypes import DtypesMessageTarget
from aerowire.codegen.sbe.targets.flyweights import MessageFlyweightsTarget
from aerowire.codegen.sbe.targets.json import JsonMessages
from aerowire.codegen.sbe.targets.markdown import MarkdownMessages
from aerowire.codegen.sbe.targets.native import NativeMessageTarget
from aerowire.codegen.sbe.targets.scapy import ScapyMessages
from aerowire.codegen.sbe.targets.wireshark import WiresharkMessages

MESSAGE_TARGETS: dict[str, MessageTarget] = {
    target.name: target
    for target in (
        MessageFlyweightsTarget(),
        DtypesMessageTarget(),
        ArrowMessageTarget(),
        NativeMessageTarget(),
        WiresharkMessages(),
        MarkdownMessages(),
        JsonMessages(),
        ScapyMessages(),
    )
}
