"""Arrays over captured bytes: blocks, short records, numbered keys, columns, Arrow's memory and schemas; no file format, no protocol."""
