"""A generator of datagrams that the rules accept one by one: hostile sequences of valid frames, and how they are kept and minimised."""
