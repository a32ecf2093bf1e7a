import io.aeron.cluster.PriorityHeapTimerServiceSupplier;
import io.aeron.cluster.TimerService;
import io.aeron.cluster.TimerServiceSupplier;
import io.aeron.cluster.WheelTimerServiceSupplier;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;

/**
 * Carries out a file of commands on an official timer service ({@code wheel TICK TICKS FILE}, {@code heap FILE}), and prints their output.
 * Commands: {@code schedule ID DEADLINE}, {@code cancel ID}, {@code time NOW}, {@code poll NOW TAKEN}, {@code snapshot}.
 */
public final class TimerSchedules
{
    private static StringBuilder line;
    private static int takenMax;

    public static void main(final String[] args) throws IOException
    {
        final TimerServiceSupplier supplier = "wheel".equals(args[0]) ?
            new WheelTimerServiceSupplier(TimeUnit.MILLISECONDS, 0, Long.parseLong(args[1]), Integer.parseInt(args[2])) :
            new PriorityHeapTimerServiceSupplier();
        final TimerService service = supplier.newInstance(TimeUnit.MILLISECONDS, TimerSchedules::onTimerEvent);
        final StringBuilder output = new StringBuilder();
        for (final String command : Files.readAllLines(Path.of(args[args.length - 1])))
        {
            line = new StringBuilder();
            execute(service, command.split(" "));
            output.append(line).append('\n');
        }
        System.out.print(output);
    }

    private static void execute(final TimerService service, final String[] command)
    {
        switch (command[0])
        {
            case "schedule" -> service.scheduleTimerForCorrelationId(Long.parseLong(command[1]), Long.parseLong(command[2]));
            case "cancel" -> line.append(service.cancelTimerByCorrelationId(Long.parseLong(command[1])));
            case "time" -> service.currentTime(Long.parseLong(command[1]));
            case "poll" ->
            {
                takenMax = Integer.parseInt(command[2]);
                final int count = service.poll(Long.parseLong(command[1]));
                line.append("of ").append(count);
            }
            default -> service.snapshot((correlationId, deadline) -> line.append(correlationId).append('@').append(deadline).append(' '));
        }
    }

    private static boolean onTimerEvent(final long correlationId)
    {
        if (takenMax-- > 0)
        {
            line.append(correlationId).append(' ');
            return true;
        }
        return false;
    }
}
