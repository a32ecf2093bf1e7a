"""The flyweights of a composite, and of a message with its groups, in whichever module they stand."""

from __future__ import annotations

from aerowire.codegen.sbe.flyweights.blocks import add_decoder, add_encoder, add_layout, add_parts
from aerowire.codegen.sbe.flyweights.module import Module
from aerowire.codegen.sbe.flyweights.part_properties import group_stem
from aerowire.codegen.sbe.ir import Block, Composite, Message


class ModuleOfComposites(Module):
    """A module that has the composites does not import them."""

    def use_class(self, name: str, module: str) -> str:
        return name if module == "composites" else super().use_class(name, module)


def add_composite(module: Module, stem: str, composite: Composite) -> None:
    """Add its decoder and its encoder."""
    add_layout(module, stem, composite)
    add_decoder(module, stem, composite, "_CompositeDecoder")
    add_encoder(module, stem, composite, "_CompositeEncoder")


def add_flyweights(module: Module, stem: str, block: Block, path: tuple[str, ...]) -> None:
    """Add decoders and encoders, those of groups before what holds them."""
    for group in block.groups:
        add_flyweights(module, group_stem(module.model, stem, group), group, (*path, group.name))
    is_message = isinstance(block, Message)
    add_layout(module, stem, block)
    add_parts(module, stem, block, path)
    add_decoder(module, stem, block, "_MessageDecoder" if is_message else "_EntryDecoder")
    add_encoder(module, stem, block, "_MessageEncoder" if is_message else "_EntryEncoder")
