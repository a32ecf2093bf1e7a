"""The ground of the runtime: errors, ports, clocks and idle strategies.  Imports nothing else of the project."""
