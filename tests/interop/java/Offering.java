import io.aeron.DirectBufferVector;
import io.aeron.ExclusivePublication;
import io.aeron.Publication;
import io.aeron.ReservedValueSupplier;
import io.aeron.logbuffer.BufferClaim;
import io.aeron.protocol.DataHeaderFlyweight;
import org.agrona.BitUtil;
import org.agrona.DirectBuffer;
import org.agrona.concurrent.UnsafeBuffer;

import java.nio.ByteOrder;
import java.util.zip.CRC32;

/**
 * The ways in which a publisher can send a message; the Python peers have the same (offering.py).
 *
 * <p>Every frame that goes out by another way than {@code plain} carries a checksum of its payload as reserved value.
 */
interface Offering
{
    int HEADER_LENGTH = DataHeaderFlyweight.HEADER_LENGTH;
    int CLAIM_ABORTED_EVERY = 5;
    int PADDED_EVERY = 3;
    int PADDING_LENGTH_MAX = 1000;

    /** Send one message; results as those of offer. */
    long offer(UnsafeBuffer pool, int start, int length, int index);

    static Offering of(final String way, final Publication publication)
    {
        return switch (way)
        {
            case "parts" -> parts(publication);
            case "claim" -> claims(publication);
            case "padding" -> padding((ExclusivePublication)publication);
            case "block" -> blocks((ExclusivePublication)publication);
            default -> (pool, start, length, index) -> publication.offer(pool, start, length);
        };
    }

    /** The reserved value of a frame of {@code length} bytes, header included. */
    static long checksum(final DirectBuffer buffer, final int offset, final int length)
    {
        final byte[] payload = new byte[length - HEADER_LENGTH];
        buffer.getBytes(offset + HEADER_LENGTH, payload);
        return crc(payload, 0, payload.length) | (long)length << 32;
    }

    static long crc(final byte[] bytes, final int offset, final int length)
    {
        final CRC32 crc = new CRC32();
        crc.update(bytes, offset, length);
        return crc.getValue();
    }

    private static Offering parts(final Publication publication)
    {
        final ReservedValueSupplier supplier = Offering::checksum;
        return (pool, start, length, index) ->
        {
            final int third = length / 3;
            if (index % 2 != 0)
            {
                return publication.offer(pool, start, third, pool, start + third, length - third, supplier);
            }
            final DirectBufferVector[] vectors = {
                new DirectBufferVector(pool, start, third),
                new DirectBufferVector(pool, start + third, third),
                new DirectBufferVector(pool, start + 2 * third, length - 2 * third) };
            return publication.offer(vectors, supplier);
        };
    }

    private static Offering claims(final Publication publication)
    {
        final BufferClaim claim = new BufferClaim();
        final int[] givenUp = { -1 };
        return (pool, start, length, index) ->
        {
            if (length > publication.maxPayloadLength())
            {
                return publication.offer(pool, start, length, Offering::checksum);
            }
            long result = publication.tryClaim(length, claim);
            if (result > 0 && index % CLAIM_ABORTED_EVERY == 0 && givenUp[0] != index)
            {
                givenUp[0] = index;
                claim.putBytes(pool, start, length);
                claim.abort();
                result = publication.tryClaim(length, claim);
            }
            if (result > 0)
            {
                claim.putBytes(pool, start, length);
                claim.reservedValue(crc(pool.byteArray(), start, length) | (long)(HEADER_LENGTH + length) << 32);
                claim.commit();
            }
            return result;
        };
    }

    private static Offering padding(final ExclusivePublication publication)
    {
        final int[] padded = { -1 };
        return (pool, start, length, index) ->
        {
            if (index % PADDED_EVERY == 0 && padded[0] != index)
            {
                final long result = publication.appendPadding(index * 37 % PADDING_LENGTH_MAX);
                if (result < 0)
                {
                    return result;
                }
                padded[0] = index;
            }
            return publication.offer(pool, start, length, Offering::checksum);
        };
    }

    private static Offering blocks(final ExclusivePublication publication)
    {
        final UnsafeBuffer block = new UnsafeBuffer(new byte[publication.termBufferLength()]);
        final DataHeaderFlyweight header = new DataHeaderFlyweight();
        return (pool, start, length, index) ->
        {
            final boolean isAtEnd = publication.termOffset() == publication.termBufferLength();
            final int termOffset = isAtEnd ? 0 : publication.termOffset();
            final int payloadMax = publication.maxPayloadLength();
            int size = 0;
            int done = 0;
            do
            {
                final int piece = Math.min(payloadMax, length - done);
                final int flags = (0 == done ? DataHeaderFlyweight.BEGIN_FLAG : 0) |
                    (done + piece == length ? DataHeaderFlyweight.END_FLAG : 0);
                block.setMemory(size, BitUtil.align(HEADER_LENGTH + piece, 32), (byte)0);
                block.putBytes(size + HEADER_LENGTH, pool, start + done, piece);
                header.wrap(block, size, HEADER_LENGTH);
                header.termOffset(termOffset + size).termId(publication.termId() + (isAtEnd ? 1 : 0))
                    .streamId(publication.streamId()).sessionId(publication.sessionId())
                    .reservedValue(crc(pool.byteArray(), start + done, piece) | (long)(HEADER_LENGTH + piece) << 32);
                header.version((short)0).flags((short)flags).headerType(DataHeaderFlyweight.HDR_TYPE_DATA)
                    .frameLength(HEADER_LENGTH + piece);
                size += BitUtil.align(HEADER_LENGTH + piece, 32);
                done += piece;
            }
            while (done < length);
            if (termOffset + size > publication.termBufferLength())
            {
                return publication.offer(pool, start, length, Offering::checksum);
            }
            return publication.offerBlock(block, 0, size);
        };
    }
}
