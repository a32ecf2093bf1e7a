"""What native agents and their conductors share, in the driver and in what is built on the client; it knows the streams of neither."""
