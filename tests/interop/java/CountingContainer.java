import io.aeron.cluster.service.ClusteredServiceContainer;
import org.agrona.concurrent.ShutdownSignalBarrier;

/** An official service container with a counting service, configured by system properties, under whatever consensus module there is. */
final class CountingContainer
{
    public static void main(final String[] arguments)
    {
        try (ShutdownSignalBarrier barrier = new ShutdownSignalBarrier();
            ClusteredServiceContainer container = ClusteredServiceContainer.launch(new ClusteredServiceContainer.Context()
                .terminationHook(barrier::signalAll)
                .clusteredService(new CountingService())))
        {
            ServiceNode.say("started", "\"service\": " + container.context().serviceId());
            barrier.await();
        }
    }
}
