import { unreadable } from './unreadable.ts';

/**
 * Packets of AAC as a stream that explains itself, each behind a head of its own: a program that reads it needs neither to
 * seek nor to understand a container.
 */
export async function* adtsFrames(config: Uint8Array, packets: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const [first = 0, second = 0] = config;
  const kind = first >> 3;
  const rateIndex = ((first & 7) << 1) | (second >> 7);
  const channels = (second >> 3) & 15;
  if (config.length < 2 || kind === 0 || rateIndex > 12)
    throw unreadable('its AAC sound tells nowhere how it is stored');
  // What extends the plain kind is found by decoders in the packets themselves.
  const profile = (kind <= 4 ? kind : 2) - 1;
  for await (const packet of packets) {
    const length = packet.length + 7;
    yield Uint8Array.of(
      0xff,
      0xf1,
      (profile << 6) | (rateIndex << 2) | (channels >> 2),
      ((channels & 3) << 6) | (length >> 11),
      (length >> 3) & 0xff,
      ((length & 7) << 5) | 0x1f,
      0xfc,
    );
    yield packet;
  }
}
