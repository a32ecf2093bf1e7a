"""Checked parameters of channel URIs: addresses, interfaces, wildcard ports, and the strategies a URI selects.

No module here owns a resource.
"""
