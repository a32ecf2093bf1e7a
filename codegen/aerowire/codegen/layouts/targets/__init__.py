"""One module per target: a thin view-model of the IR, and the template that it fills.

A target never sees XML, and its template does no arithmetic.
"""
