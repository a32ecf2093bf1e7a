"""Messages of services of another life of the consensus module, which concern timers and sessions of a log that is not this one."""

from __future__ import annotations

from aerowire.codecs.flyweights.cluster.messages.schedule_timer import ScheduleTimer
from aerowire.simulation.world import SimulatedWorld
from tests.cluster.module.scripted_service import CONTROL_CHANNEL
from tests.cluster.module.simulated_members import new_members
from tests.cluster.module.test_simulated_members import SECOND, run_until_elected

FAR = 1 << 50


def test_only_a_service_that_has_recovered_with_the_member_is_heard() -> None:
    with SimulatedWorld(seed=8) as world:
        members = new_members(world, 1)
        member = run_until_elected(world, members)
        assert member.service is not None
        assert member.module is not None
        replicated = member.module.agent.member.replicated
        adding = member.service.aeron.async_add_exclusive_publication(CONTROL_CHANNEL, 105)
        assert world.run(SECOND, until=adding.poll)
        stranger = adding.result()
        assert world.run(SECOND, until=lambda: stranger.is_connected)
        assert stranger.offer(ScheduleTimer(correlation_id=1, deadline=FAR).encode()) > 0
        assert world.run(SECOND, until=lambda: "message of a service that has not recovered" in repr(member)), member
        assert replicated.state().timers == ()
        assert member.service.offer(ScheduleTimer(correlation_id=2, deadline=FAR).encode())
        assert world.run(SECOND, until=lambda: replicated.state().timers == ((2, FAR),)), replicated.state()
        member.kill()
