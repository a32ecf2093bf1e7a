"""An extension of the consensus module: schemas of its own on ingress and log, in place of services."""
