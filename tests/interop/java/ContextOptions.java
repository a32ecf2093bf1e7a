import io.aeron.archive.Archive;
import io.aeron.archive.client.AeronArchive;
import io.aeron.cluster.ClusterBackup;
import io.aeron.cluster.ClusterTool;
import io.aeron.cluster.ConsensusModule;
import io.aeron.cluster.client.AeronCluster;
import io.aeron.cluster.service.ClusteredServiceContainer;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.Arrays;
import java.util.Comparator;
import java.util.function.Predicate;
import java.util.function.Supplier;
import org.agrona.concurrent.IdleStrategy;

/**
 * The options of official contexts as the properties of this machine make them: a line of component, getter and value, with tabs between, for
 * each getter of a context and each static one of its configuration. Of an object that stands for a class, the value is the class.
 */
public final class ContextOptions
{
    public static void main(final String[] args) throws Exception
    {
        print("archive", new Archive.Context(), Archive.Configuration.class);
        print("archive-client", new AeronArchive.Context(), AeronArchive.Configuration.class);
        print("consensus-module", new ConsensusModule.Context(), ConsensusModule.Configuration.class);
        print("cluster-service", new ClusteredServiceContainer.Context(), ClusteredServiceContainer.Configuration.class);
        print("cluster-client", new AeronCluster.Context(), AeronCluster.Configuration.class);
        print("cluster-backup", new ClusterBackup.Context(), ClusterBackup.Configuration.class);
        print("cluster-tool", "timeoutMs", ClusterTool.TIMEOUT_MS);
        print("cluster-tool", "replayChannel", ClusterTool.AERON_CLUSTER_TOOL_REPLAY_CHANNEL);
        print("cluster-tool", "replayStreamId", ClusterTool.AERON_CLUSTER_TOOL_REPLAY_STREAM_ID);
    }

    private static void print(final String component, final Object context, final Class<?> configuration) throws Exception
    {
        print(component, context, context.getClass(), method -> !Modifier.isStatic(method.getModifiers()));
        print(component, null, configuration, method -> Modifier.isStatic(method.getModifiers()));
        for (final Method method : configuration.getMethods())
        {
            if (method.getName().toLowerCase().endsWith("idlestrategysupplier"))
            {
                final Supplier<?> supplier = (Supplier<?>)method.invoke(null, new Object[]{ null });
                print(component, "Configuration." + method.getName(), null == supplier ? null : (IdleStrategy)supplier.get());
            }
        }
    }

    private static void print(
        final String component, final Object context, final Class<?> type, final Predicate<Method> isWanted) throws Exception
    {
        final Method[] methods = type.getDeclaredMethods();
        Arrays.sort(methods, Comparator.comparing(Method::getName));
        for (final Method method : methods)
        {
            final boolean isGetter = 0 == method.getParameterCount() && void.class != method.getReturnType();
            if (isGetter && Modifier.isPublic(method.getModifiers()) && isWanted.test(method) && !method.isSynthetic() &&
                !"clone".equals(method.getName()) && !"toString".equals(method.getName()))
            {
                final String name = null == context ? "Configuration." + method.getName() : method.getName();
                try
                {
                    print(component, name, method.invoke(context));
                }
                catch (final InvocationTargetException ex)
                {
                    // What only a concluded context has, or a class that has to be named.
                    print(component, name, "! " + ex.getCause().getMessage());
                }
            }
        }
    }

    private static void print(final String component, final String getter, final Object value)
    {
        final boolean isPlain = value instanceof String || value instanceof Number || value instanceof Boolean || value instanceof Enum;
        final String text = null == value || isPlain ? String.valueOf(value) :
            value.getClass().isHidden() ? "a lambda" : value.getClass().getName();
        System.out.println(component + "\t" + getter + "\t" + text);
    }
}
