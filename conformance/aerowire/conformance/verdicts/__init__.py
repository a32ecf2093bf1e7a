"""Evaluates a capture by the rules that the wire alone can show."""
