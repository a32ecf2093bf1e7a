"""Subscriptions that read a recording and go on with its stream, and the log of what befalls them. Aeron: PersistentSubscription."""
