import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.agrona.ExpandableRingBuffer;
import org.agrona.concurrent.UnsafeBuffer;

/**
 * Carries out a file of commands on Agrona's ring buffer, and prints its size and capacity after each. Commands: {@code append LENGTH},
 * {@code consume COUNT}, which looks at one message more, and {@code reset CAPACITY}.
 */
public final class RingSizes
{
    private static int consumedMax;

    public static void main(final String[] args) throws IOException
    {
        final ExpandableRingBuffer ring = new ExpandableRingBuffer();
        final UnsafeBuffer message = new UnsafeBuffer(new byte[1 << 16]);
        final StringBuilder output = new StringBuilder();
        for (final String command : Files.readAllLines(Path.of(args[0])))
        {
            final String[] words = command.split(" ");
            final int number = Integer.parseInt(words[1]);
            switch (words[0])
            {
                case "append" -> ring.append(message, 0, number);
                case "consume" ->
                {
                    consumedMax = number;
                    ring.consume((buffer, offset, length, headOffset) -> consumedMax-- > 0, Integer.MAX_VALUE);
                }
                default -> ring.reset(number);
            }
            output.append(ring.size()).append(' ').append(ring.capacity()).append('\n');
        }
        System.out.print(output);
    }
}
