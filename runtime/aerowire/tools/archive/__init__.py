"""`aerowire archive`: the directory of an Archive from outside, as the official ArchiveTool shows and changes it, and more."""
