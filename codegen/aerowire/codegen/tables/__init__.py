"""Tables of options, counters and error codes, from their documents to their targets; a table has no layout."""
