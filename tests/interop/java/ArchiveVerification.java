import io.aeron.archive.ArchiveTool;
import java.io.File;
import java.util.EnumSet;

/** Lets the official tool verify directories of archives, given behind the class of their checksum or "none"; prints what it says. */
public final class ArchiveVerification
{
    public static void main(final String[] args)
    {
        final String checksum = "none".equals(args[0]) ? null : args[0];
        final EnumSet<ArchiveTool.VerifyOption> options = EnumSet.of(ArchiveTool.VerifyOption.VERIFY_ALL_SEGMENT_FILES);
        if (null != checksum)
        {
            options.add(ArchiveTool.VerifyOption.APPLY_CHECKSUM);
        }
        for (int i = 1; i < args.length; i++)
        {
            System.out.println(args[i]);
            ArchiveTool.verify(System.out, new File(args[i]), options, checksum, (file) -> true);
        }
        System.out.println("verified " + (args.length - 1));
    }
}
