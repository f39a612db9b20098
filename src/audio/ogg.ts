import { ascii } from './ascii.ts';
import { flacRate } from './decode-flac.ts';
import { unreadable } from './unreadable.ts';

/** More are decoded into nothing but memory: a page of 255 channels would be a gigabyte. */
const mostChannels = 8;
const headerBytes = 27;

interface LogicalStream {
  /** Samples a second, in which positions are counted. */
  readonly rate: number;
  first?: number;
  last: number;
}

/**
 * How long the pages of an Ogg file say that it is, in seconds. Files may stand one behind the other; each counts from the
 * position at which it begins, which is not 0 in what was recorded from a radio.
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
      // Heads have the position 0, and pages on which no packet ends -1.
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

/** By the first packet of a stream; 0 for what is no sound that we know. */
function positionRate(packet: Uint8Array): number {
  const view = new DataView(packet.buffer, packet.byteOffset, packet.byteLength);
  if (ascii(packet, 0, 8) === 'OpusHead' && packet.length >= 19) return checked(view.getUint8(9), 48_000);
  if (ascii(packet, 0, 7) === '\x01vorbis' && packet.length >= 16) {
    return checked(view.getUint8(11), view.getUint32(12, true));
  }
  // Behind 9 bytes of its own it begins like any FLAC file.
  return ascii(packet, 0, 5) === '\x7fFLAC' && packet.length >= 35 ? flacRate(packet.subarray(9)) : 0;
}

function checked(channels: number, rate: number): number {
  if (channels > mostChannels) throw unreadable(`this Ogg file says that it has ${channels} channels`);
  return rate;
}
