"""Messages that services send to all services of the cluster, from the moment they are sent until the log has them for good.

Every member's service sends the same messages. The leader appends them to the log; a follower keeps them until it sees them there, and
appends what is missing if it comes to lead. `pending_service_message_tracker` does this for one service, without any input or output.
"""
