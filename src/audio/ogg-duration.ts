import { flacRate } from './decode-flac.ts';
import { ascii, unreadable } from './decoder.ts';

/** Bounds the memory that the decoder allocates: a page of 255 channels would take a gigabyte. */
const maxChannels = 8;
const headerBytes = 27;

interface LogicalStream {
  /** Unit of granule positions, per second. */
  readonly rate: number;
  first?: number;
  last: number;
}

/**
 * Duration in seconds that the pages of an Ogg file declare. Files may be concatenated. Each stream counts from its first granule
 * position, which is not 0 in recordings of live streams.
 */
export function oggSeconds(bytes: Uint8Array): number {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const file = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const open = new Map<number, LogicalStream>();
  let seconds = 0;
  for (let place = 0; place + headerBytes <= bytes.length; ) {
    if (view.getUint32(place) !== 0x4f676753) {
      place = file.indexOf('OggS', place + 1, 'latin1');
      if (place === -1) break;
      continue;
    }
    const isFirst = (view.getUint8(place + 5) & 2) !== 0;
    const position = Number(view.getBigInt64(place + 6, true));
    const serial = view.getUint32(place + 14, true);
    const body = place + headerBytes + view.getUint8(place + 26);
    if (isFirst) {
      seconds += secondsOf(open.get(serial));
      const rate = positionRate(bytes.subarray(body));
      if (rate > 0) open.set(serial, { rate, last: 0 });
    } else {
      const stream = open.get(serial);
      // Header pages have position 0; pages on which no packet ends have -1.
      if (stream && position > 0) {
        stream.first ??= position;
        stream.last = Math.max(stream.last, position);
      }
    }
    let end = body;
    for (let at = place + headerBytes; at < body && at < bytes.length; at++) end += view.getUint8(at);
    place = end;
  }
  return [...open.values()].reduce((sum, stream) => sum + secondsOf(stream), seconds);
}

function secondsOf(stream: LogicalStream | undefined): number {
  return stream?.first === undefined ? 0 : (stream.last - stream.first) / stream.rate;
}

/** Unit of granule positions, from the first packet of a stream; 0 for unknown codecs. */
function positionRate(packet: Uint8Array): number {
  const view = new DataView(packet.buffer, packet.byteOffset, packet.byteLength);
  if (ascii(packet, 0, 8) === 'OpusHead' && packet.length >= 19) return checked(view.getUint8(9), 48_000);
  if (ascii(packet, 0, 7) === '\x01vorbis' && packet.length >= 16) {
    return checked(view.getUint8(11), view.getUint32(12, true));
  }
  // 9 bytes, then a native FLAC header.
  return ascii(packet, 0, 5) === '\x7fFLAC' && packet.length >= 35 ? flacRate(packet.subarray(9)) : 0;
}

function checked(channels: number, rate: number): number {
  if (channels > maxChannels) throw unreadable(`this Ogg file says that it has ${channels} channels`);
  return rate;
}
