"""The layout language: from a document to the tree of structs, variants and regions, and its targets; messages have their own tree."""
