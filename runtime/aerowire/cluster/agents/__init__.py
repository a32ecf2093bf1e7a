"""The native agent of a consensus module, which appends, commits and consumes the log without the interpreter lock.

It knows streams, terms and open sessions. Elections, all else about sessions, timers, files and services are the conductor's. The
conductor makes the objects that the agent works on, sends it commands, and polls its events (see `events`) from one ring, in the order
in which they happened:

    events = ClusterAgentEvents()
    agent = LogAgent(events, ports.clock, LentCounter(commit_position), member_id=0, member_ids=(0, 1, 2), time_unit=...)
    proxy = LogAgentProxy(agent)                    # call `flush` in each cycle
    ImageLender(ingress_subscription, lambda loan: proxy.add_ingress_image(MessageImage(loan)))     # one for IPC ingress too
    ImageLender(consensus_subscription, lambda loan: proxy.add_consensus_image(MessageImage(loan)))
    proxy.set_publication(member_id, LentPublication(publication))      # for each other member, and again when it was opened again

The agent runs in a thread of its own (base.runner.AgentRunner), shares one with others, or works in the caller's (AgentInvoker). An
object that a command adds is the agent's until the event that gives it back, of which there is one for each object.

Messages between members. All messages of this member to others go through `proxy.send`: one publication has one writer. A message that
is not sent is lost, as MessageSent says. Outside of a term every message of a member is a ConsensusMessage, so that an election sees all
of them. In a term, the agent handles append positions at the leader and commit positions at a follower; the conductor gets the other
messages, and commit positions of later terms. It calls the proxy for them: `update_member` for a canvass at a leader, `notify_commit`
for a NewLeadershipTerm of the leader, `terminate` for a TerminationPosition, `watch_member` while a replay runs to a member.

Terms. When an election closes, hand the term over, with the counter of what the archive has recorded of the log:

    positions = MemberPositions(member_ids)         # the agent adds the positions that members reported during the election
    commit = LeaderCommit(member_id, positions, leadership_term_id=..., commit_position=..., heartbeat_interval_ns=..., ...)
    proxy.lead(LeaderTerm(LentPublication(log), PositionBound(counters, counter_id), commit))
    proxy.follow(FollowerTerm(PositionBound(counters, counter_id), FollowerCommit(leadership_term_id=..., now_ns=..., ...)))

`now_ns` is of the agent's clock. TermFaulted says once what ends a term: no majority, a silent leader, a log that is closed or full, a
recording that has stopped. After the first two the agent commits and consumes no more, and members' messages are the conductor's again.
`end_term` ends a term in any case. From TermEnded on, the term's `commit` does not change any more, the log publication is given back,
and what was not appended is answered as closed.

The consensus machine, meanwhile, is in CLOSED: do not let it tick while the agent has the term, because the agent decides what its ticks
would decide. Give it messages and LogRecorded as before, a TermFaulted as EffectFailed, and the end of a follower's log as
LogImageClosed. Carry StopLog out by `end_term` and `remove_log`, and once TermEnded and LogReturned have come, tell LogStopped with the
position that was committed or consumed: nothing below that may be taken back.

The leader's log. The conductor encodes everything but messages of sessions, messages of services too, and appends it by
`proxy.append(OutboundMessage(...))`; the agent fills in timestamp and log position, and MessageAppended has both. Appends go in order,
before ingress of the same cycle. They wait where the log pushes back, and ingress behind them. The conductor limits the number of appends
without an answer. Add a session once its open event is appended, and remove it BEFORE its close event is appended. Its
`time_of_last_activity_ns` and `ingress_image_id` may be read at any time. What is committed is in the commit position counter.

Ingress. Session messages and keep-alives are the agent's, at every member; those that are not of an open session of the term are dropped
and counted. Any other message is an IngressMessage, and its image is not read on before `resume_image`: first carry the request out,
including its appends and removals of sessions. Other images go on meanwhile. `open_ingress` says whether ingress is read at all: close it
BEFORE an action is appended behind which nothing may come, or wait for IngressClosed.

The follower's log, a catch-up or a replay is a FollowedLog; one at a time. While a term is followed, it is consumed up to the leader's
commit position, else up to `limit_log`, whose end LogReached says; in any case no further than `append_position`. The commit position
counter follows. Openings, closes and timers come as LogMessages; behind cluster actions, new terms and messages of an extension the log
is held until `resume_log`. The log's `position` may be ahead of the LogMessages that the conductor has taken: see `handed_position`.
Sweep the pending messages of services by its `service_session_id`. LogReturned says why a log has ended.

Back pressure. Ingress and log wait in their images for room in the log or in the ring of events; messages of members that find no room
there are dropped, because positions behind them must not wait. `ingress_drops`, `consensus_drops` and `log_drops` count, by DropReason.

Before the agent is stopped, end the term and recall the loans, and wait for their events; what is left is given back when it stops.
"""
