"""SBE message schemas: FIX Simple Binary Encoding 1.0 as the official tool implements it.

`reader` makes a tree of a schema (`ir`), and everything else is made of that tree: `targets` (with `flyweights` and `native`) write
code, `interpreter` and `transcoding` read and write messages without any, `comparison` judges two versions.
"""
