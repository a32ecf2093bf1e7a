import io.aeron.cluster.RecordingLog;
import java.io.File;

/** Writes a recording log with the official class ({@code write DIRECTORY}); prints the entries of one ({@code read DIRECTORY}). */
public final class RecordingLogFile
{
    public static void main(final String[] args)
    {
        final File directory = new File(args[1]);
        final boolean isNew = "write".equals(args[0]);
        try (RecordingLog log = new RecordingLog(directory, isNew))
        {
            if (isNew)
            {
                write(log);
            }
            for (final RecordingLog.Entry entry : log.entries())
            {
                System.out.println(entry.recordingId + " " + entry.leadershipTermId + " " + entry.termBaseLogPosition + " " +
                    entry.logPosition + " " + entry.timestamp + " " + entry.serviceId + " " + entry.type + " " + entry.isValid + " " +
                    entry.archiveEndpoint);
            }
        }
    }

    private static void write(final RecordingLog log)
    {
        log.appendTerm(7, 0, 0, 1000);
        log.appendSnapshot(8, 0, 0, 4096, 1100, 0);
        log.appendSnapshot(9, 0, 0, 4096, 1101, -1);
        log.appendStandbySnapshot(10, 0, 0, 8192, 1200, 0, "standby.example.com:8010");
        log.appendStandbySnapshot(11, 0, 0, 8192, 1201, -1, "h:1");
        log.commitLogPosition(0, 12288);
        log.appendTerm(7, 1, 12288, 2000);
        log.appendSnapshot(12, 1, 12288, 16384, 2100, 0);
        log.appendSnapshot(13, 1, 12288, 16384, 2101, -1);
        log.invalidateLatestSnapshot();
    }
}
