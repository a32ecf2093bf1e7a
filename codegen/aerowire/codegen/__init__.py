"""Schema to code: XML is parsed, validated, resolved into an IR, and rendered by one thin template per target.

This package reads schemas only.  It must not import what it generates, nor the runtime.
"""
