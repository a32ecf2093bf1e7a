"""`aerowire cluster`: members of a cluster, started, and from outside as the official ClusterTool shows and controls them."""
