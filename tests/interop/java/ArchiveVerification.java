import io.aeron.archive.ArchiveTool;
import java.io.BufferedReader;
import java.io.File;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.EnumSet;

/**
 * Lets the official tool verify directories of archives, and prints what it says. Arguments: the class of their checksum or "none", and the
 * directories; without these, each line of standard input names one.
 */
public final class ArchiveVerification
{
    public static void main(final String[] args) throws IOException
    {
        final String checksum = "none".equals(args[0]) ? null : args[0];
        if (args.length > 1)
        {
            for (int i = 1; i < args.length; i++)
            {
                verify(args[i], checksum);
            }
            System.out.println("verified " + (args.length - 1));
            return;
        }
        try (BufferedReader named = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8)))
        {
            for (String directory = named.readLine(); null != directory; directory = named.readLine())
            {
                verify(directory, checksum);
                System.out.println("verified 1");
            }
        }
    }

    private static void verify(final String directory, final String checksum)
    {
        final EnumSet<ArchiveTool.VerifyOption> options = EnumSet.of(ArchiveTool.VerifyOption.VERIFY_ALL_SEGMENT_FILES);
        if (null != checksum)
        {
            options.add(ArchiveTool.VerifyOption.APPLY_CHECKSUM);
        }
        System.out.println(directory);
        ArchiveTool.verify(System.out, new File(directory), options, checksum, (file) -> true);
    }
}
