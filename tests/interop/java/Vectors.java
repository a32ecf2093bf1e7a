/** Prints test vectors of frames, commands and responses: struct, values as JSON, and the bytes that Aeron's own classes write. */
final class Vectors
{
    private Vectors()
    {
    }

    public static void main(final String[] arguments)
    {
        for (final Vector.Mode mode : Vector.Mode.values())
        {
            FrameVectors.print(mode);
            CommandVectors.print(mode);
        }
    }
}
