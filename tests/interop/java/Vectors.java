import java.io.IOException;

/**
 * Prints test vectors: struct, values as JSON, and the bytes that Aeron's own classes write. {@code frames} are frames, commands
 * and responses, {@code files} what stands in files.
 */
final class Vectors
{
    private Vectors()
    {
    }

    public static void main(final String[] arguments) throws IOException
    {
        for (final Vector.Mode mode : Vector.Mode.values())
        {
            if ("files".equals(arguments[0]))
            {
                FileVectors.print(mode);
            }
            else
            {
                FrameVectors.print(mode);
                CommandVectors.print(mode);
            }
        }
    }
}
