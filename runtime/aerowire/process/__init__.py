"""What all parts stand on: signals and output of a process, and what Cython shares among native modules. Imports the standard library only."""
