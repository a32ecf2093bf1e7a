"""Catalogs and segment files of an Archive as bytes and names: layouts, geometry, versions.

The Archive and the capture package share these modules. They are pure Python, touch no file, and import generated codecs only, so that
they can be shipped as a plain zip.
"""
