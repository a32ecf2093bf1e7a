"""The service container: it runs a service of a cluster on the log that the consensus module of its node shows it. Aeron: ClusteredService…

    class Echo(ClusteredService):
        def on_session_message(self, session, message, at):
            session.offer(message)

    with ClusteredServiceContainer.launch(Echo, cluster_dir="cluster"):
        ...

The container talks to a consensus module through its driver alone, so that either may be another implementation's. Names are loaded at
first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from aerowire.base.lazy_names import lazy_names

if TYPE_CHECKING:
    from aerowire.cluster.services.client_session import MOCKED_OFFER, ClientSession
    from aerowire.cluster.services.cluster import Cluster
    from aerowire.cluster.services.clustered_service import ClusteredService, LeadershipTerm
    from aerowire.cluster.services.container import ClusteredServiceContainer
    from aerowire.cluster.services.context import ClusteredServiceContext
    from aerowire.cluster.services.message_batch import MessageBatch
    from aerowire.cluster.services.message_claim import MessageClaim
    from aerowire.cluster.services.message_handlers import handles, restores

__all__ = [
    "MOCKED_OFFER",
    "ClientSession",
    "Cluster",
    "ClusteredService",
    "ClusteredServiceContainer",
    "ClusteredServiceContext",
    "LeadershipTerm",
    "MessageBatch",
    "MessageClaim",
    "handles",
    "restores",
]

_HOME = "aerowire.cluster.services"
_MODULES = {
    f"{_HOME}.client_session": ("MOCKED_OFFER", "ClientSession"),
    f"{_HOME}.cluster": ("Cluster",),
    f"{_HOME}.clustered_service": ("ClusteredService", "LeadershipTerm"),
    f"{_HOME}.container": ("ClusteredServiceContainer",),
    f"{_HOME}.context": ("ClusteredServiceContext",),
    f"{_HOME}.message_batch": ("MessageBatch",),
    f"{_HOME}.message_claim": ("MessageClaim",),
    f"{_HOME}.message_handlers": ("handles", "restores"),
}
__getattr__, __dir__ = lazy_names(__name__, _MODULES)
