"""The version of aerowire, without reading the installed distribution's metadata (which takes longer than all other imports)."""

VERSION = "0.1.0"
