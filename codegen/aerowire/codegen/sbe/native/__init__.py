"""Compiled codecs of a message schema: the text of the Cython module, and its compilation."""
