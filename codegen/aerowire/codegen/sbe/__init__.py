"""SBE message schemas: FIX Simple Binary Encoding 1.0 as the official tool implements it."""
