"""Templates, drawings, Markdown, Lua and JSON as every kind of schema renders them; the targets stay with their kind."""
