import io.aeron.ControlledFragmentAssembler;
import io.aeron.FragmentAssembler;
import io.aeron.Image;
import io.aeron.ImageControlledFragmentAssembler;
import io.aeron.ImageFragmentAssembler;
import io.aeron.Subscription;
import io.aeron.logbuffer.ControlledFragmentHandler;
import io.aeron.logbuffer.ControlledFragmentHandler.Action;
import io.aeron.logbuffer.FragmentHandler;
import io.aeron.logbuffer.Header;
import io.aeron.protocol.DataHeaderFlyweight;
import org.agrona.BitUtil;
import org.agrona.DirectBuffer;
import org.agrona.concurrent.UnsafeBuffer;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;

/** The ways in which a subscriber can take messages; the Python peers have the same (polling.py). */
final class Polling
{
    private static final int FRAGMENT_LIMIT = 10;
    private static final int BLOCK_LENGTH = 16_384;
    private static final int BOUND = 5_000;
    private static final int ABORTED_EVERY = 5;
    private static final int HEADER_LENGTH = DataHeaderFlyweight.HEADER_LENGTH;

    private final String way;
    private final ContentHash hash;
    private final boolean checks;
    private final byte[] message = new byte[1 << 24];
    private final FragmentHandler assembler = new FragmentAssembler((buffer, offset, length, header) ->
        add(buffer, offset, length));
    private final ControlledFragmentHandler controlledAssembler = new ControlledFragmentAssembler(this::onMessage);
    private final FragmentHandler imageAssembler = new ImageFragmentAssembler((buffer, offset, length, header) ->
        add(buffer, offset, length));
    private final ControlledFragmentHandler imageControlledAssembler =
        new ImageControlledFragmentAssembler(this::onMessage);
    private final DataHeaderFlyweight frame = new DataHeaderFlyweight();
    private int assembled;
    private long abortedMessage = -1;
    private int checked;
    private int aborted;
    private int committed;
    private int blocks;
    private int padding;
    private int bounded;
    private int images;

    Polling(final String way, final ContentHash hash, final boolean checks)
    {
        this.way = way;
        this.hash = hash;
        this.checks = checks;
    }

    int poll(final Subscription subscription)
    {
        return switch (way)
        {
            case "controlled" -> subscription.controlledPoll(this::onControlledFragment, FRAGMENT_LIMIT);
            case "bounded" -> pollBounded(subscription);
            case "block" -> (int)subscription.blockPoll(this::onBlock, BLOCK_LENGTH);
            case "image" -> pollImages(subscription);
            case "raw" -> (int)subscription.rawPoll(this::onRawBlock, BLOCK_LENGTH);
            default -> subscription.poll(this::onFragment, FRAGMENT_LIMIT);
        };
    }

    /** What proves that the way was gone, as the fields of a JSON object. */
    String fields()
    {
        return "\"checked\": " + checked + ", \"aborted\": " + aborted + ", \"committed\": " + committed +
            ", \"blocks\": " + blocks + ", \"padding\": " + padding + ", \"bounded\": " + bounded +
            ", \"images\": " + images;
    }

    private void add(final DirectBuffer buffer, final int offset, final int length)
    {
        buffer.getBytes(offset, message, 0, length);
        hash.add(message, 0, length);
    }

    private void onFragment(final DirectBuffer buffer, final int offset, final int length, final Header header)
    {
        check(buffer, offset - HEADER_LENGTH, HEADER_LENGTH + length, header.reservedValue());
        assembler.onFragment(buffer, offset, length, header);
    }

    private Action onControlledFragment(
        final DirectBuffer buffer, final int offset, final int length, final Header header)
    {
        check(buffer, offset - HEADER_LENGTH, HEADER_LENGTH + length, header.reservedValue());
        return controlledAssembler.onFragment(buffer, offset, length, header);
    }

    private void check(final DirectBuffer buffer, final int offset, final int length, final long reservedValue)
    {
        if (checks)
        {
            final long expected = Offering.checksum(buffer, offset, length);
            if (reservedValue != expected)
            {
                throw new IllegalStateException("reserved value " + reservedValue + " instead of " + expected);
            }
            checked++;
        }
    }

    private Action onMessage(final DirectBuffer buffer, final int offset, final int length, final Header header)
    {
        final long number = hash.messages();
        if (number % ABORTED_EVERY == 0 && abortedMessage != number)
        {
            abortedMessage = number;
            aborted++;
            return Action.ABORT;
        }
        add(buffer, offset, length);
        if (number % 3 == 0)
        {
            committed++;
            return Action.COMMIT;
        }
        return number % 3 == 1 ? Action.BREAK : Action.CONTINUE;
    }

    private int pollBounded(final Subscription subscription)
    {
        int fragments = 0;
        for (final Image image : subscription.images())
        {
            final long limit = image.position() + BOUND;
            fragments += hash.messages() % 2 != 0 ?
                image.boundedControlledPoll(this::onControlledFragment, limit, FRAGMENT_LIMIT) :
                image.boundedPoll(this::onControlledPlain, limit, FRAGMENT_LIMIT);
            bounded += fragments > 0 ? 1 : 0;
        }
        return fragments;
    }

    /** A message at a time by either of the two kinds of handlers: the number of messages changes only between two. */
    private int pollImages(final Subscription subscription)
    {
        int fragments = 0;
        for (final Image image : subscription.images())
        {
            fragments += hash.messages() % 2 != 0 ?
                image.poll(this::onImageFragment, 1) : image.controlledPoll(this::onControlledImageFragment, 1);
        }
        images += fragments;
        return fragments;
    }

    private void onImageFragment(final DirectBuffer buffer, final int offset, final int length, final Header header)
    {
        check(buffer, offset - HEADER_LENGTH, HEADER_LENGTH + length, header.reservedValue());
        imageAssembler.onFragment(buffer, offset, length, header);
    }

    private Action onControlledImageFragment(
        final DirectBuffer buffer, final int offset, final int length, final Header header)
    {
        check(buffer, offset - HEADER_LENGTH, HEADER_LENGTH + length, header.reservedValue());
        return imageControlledAssembler.onFragment(buffer, offset, length, header);
    }

    private void onControlledPlain(
        final DirectBuffer buffer, final int offset, final int length, final Header header)
    {
        Action action;
        do
        {
            action = onControlledFragment(buffer, offset, length, header);
        }
        while (Action.ABORT == action);
    }

    private void onRawBlock(
        final FileChannel file,
        final long fileOffset,
        final UnsafeBuffer term,
        final int offset,
        final int length,
        final int sessionId,
        final int termId)
    {
        final ByteBuffer frames = ByteBuffer.allocate(length);
        try
        {
            while (frames.hasRemaining() && file.read(frames, fileOffset + frames.position()) >= 0)
            {
                continue;
            }
        }
        catch (final IOException ex)
        {
            throw new UncheckedIOException(ex);
        }
        onBlock(new UnsafeBuffer(frames.array()), 0, length, sessionId, termId);
    }

    private void onBlock(
        final DirectBuffer buffer, final int begin, final int length, final int sessionId, final int termId)
    {
        blocks++;
        int offset = begin;
        while (offset < begin + length)
        {
            frame.wrap(buffer, offset, HEADER_LENGTH);
            final int frameLength = frame.frameLength();
            if (frame.sessionId() != sessionId || frame.termId() != termId)
            {
                throw new IllegalStateException("a frame of another stream at " + offset + ": " + frame);
            }
            if (DataHeaderFlyweight.HDR_TYPE_PAD == frame.headerType())
            {
                padding++;
            }
            else
            {
                check(buffer, offset, frameLength, frame.reservedValue());
                buffer.getBytes(offset + HEADER_LENGTH, message, assembled, frameLength - HEADER_LENGTH);
                assembled += frameLength - HEADER_LENGTH;
                if ((frame.flags() & DataHeaderFlyweight.END_FLAG) != 0)
                {
                    hash.add(message, 0, assembled);
                    assembled = 0;
                }
            }
            offset += BitUtil.align(frameLength, 32);
        }
    }
}
