# Cython's own code that every native module would otherwise contain: its type of functions, its memoryviews, its parsing of keywords.
#
# Nothing imports it by name. hatch_build.py lets Cython generate it, and Cython lets each module import it.
