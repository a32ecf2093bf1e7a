"""The clients of a member: their ingress, the publications by which they are answered, and their sessions carried out."""
