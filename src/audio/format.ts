import { ascii, unreadable } from './decoder.ts';

/** With article, for messages. */
export const formatTitles = {
  wav: 'a WAV file',
  mp3: 'an MP3 file',
  flac: 'a FLAC file',
  'ogg-opus': 'an Ogg file with Opus',
  'ogg-vorbis': 'an Ogg file with Vorbis',
  'ogg-flac': 'an Ogg file with FLAC',
  'ogg-speex': 'an Ogg file with Speex',
  webm: 'a WebM or Matroska file',
  mp4: 'an MP4 file',
  aac: 'AAC sound',
  aiff: 'an AIFF file',
  amr: 'an AMR file',
  asf: 'a Windows Media file',
  caf: 'a CAF file',
};
export type AudioFormat = keyof typeof formatTitles;

/** Detects the format from the bytes; file name and content type are not trusted. Undefined for unknown formats. */
export function detectFormat(bytes: Uint8Array): AudioFormat | undefined {
  const head = ascii(bytes, 0, 4);
  if (['RIFF', 'RIFX', 'RF64'].includes(head)) return ascii(bytes, 8, 12) === 'WAVE' ? 'wav' : undefined;
  if (head === 'fLaC') return 'flac';
  if (head === 'OggS') return oggFormat(bytes);
  if (head === '\x1a\x45\xdf\xa3') return 'webm';
  if (head === 'FORM') return /^AIF[FC]$/.test(ascii(bytes, 8, 12)) ? 'aiff' : undefined;
  if (head === 'caff') return 'caf';
  if (head === '\x30\x26\xb2\x75') return 'asf';
  if (head === '#!AM') return 'amr';
  if (ascii(bytes, 4, 8) === 'ftyp') return 'mp4';
  return taggedFormat(bytes);
}

/** The first page of an Ogg stream names its codec. */
function oggFormat(bytes: Uint8Array): AudioFormat | undefined {
  const page = ascii(bytes, 26, 120);
  if (page.includes('OpusHead')) return 'ogg-opus';
  if (page.includes('\x01vorbis')) return 'ogg-vorbis';
  if (page.includes('\x7fFLAC')) return 'ogg-flac';
  return page.includes('Speex   ') ? 'ogg-speex' : undefined;
}

/** Formats without a container, with or without ID3 tags. */
function taggedFormat(bytes: Uint8Array): AudioFormat | undefined {
  const start = endOfTags(bytes);
  if (start > 0 && ascii(bytes, start, start + 4) === 'fLaC') return 'flac';
  if (isAdts(bytes, start)) return 'aac';
  if (isMpegAudio(bytes, start)) return 'mp3';
  // Decoders skip arbitrary bytes between a tag and the first frame.
  return start > 0 && start < bytes.length ? 'mp3' : undefined;
}

/** Offset after all leading ID3 tags. */
export function endOfTags(bytes: Uint8Array): number {
  let start = 0;
  while (ascii(bytes, start, start + 3) === 'ID3' && bytes.length >= start + 10) {
    const [a = 0, b = 0, c = 0, d = 0] = bytes.subarray(start + 6, start + 10);
    const hasFooter = ((bytes[start + 5] ?? 0) & 0x10) !== 0;
    start += 10 + ((a & 0x7f) << 21) + ((b & 0x7f) << 14) + ((c & 0x7f) << 7) + (d & 0x7f) + (hasFooter ? 10 : 0);
  }
  return start;
}

function isAdts(bytes: Uint8Array, start: number): boolean {
  const [first, second = 0, third = 0, fourth = 0, fifth = 0, sixth = 0] = bytes.subarray(start, start + 6);
  if (first !== 0xff || (second & 0xf6) !== 0xf0) return false;
  const next = start + (((fourth & 3) << 11) | (fifth << 3) | (sixth >> 5));
  const isValidRate = ((third >> 2) & 15) < 13;
  return (
    isValidRate && (next >= bytes.length - 1 || (bytes[next] === 0xff && ((bytes[next + 1] ?? 0) & 0xf6) === 0xf0))
  );
}

const otherKinds: readonly (readonly [beginning: string, what: string])[] = [
  ['\x89PNG', 'a PNG picture'],
  ['\xff\xd8\xff', 'a JPEG picture'],
  ['GIF8', 'a GIF picture'],
  ['%PDF', 'a PDF document'],
  ['PK\x03\x04', 'a ZIP archive'],
  ['\x1f\x8b', 'a gzip archive'],
  ['GGUF', 'a GGUF model'],
  ['MThd', 'a MIDI file, which holds notes and no sound'],
  ['\x7fELF', 'a program'],
  ['FLV\x01', 'a Flash video'],
];

/** What a file that is not audio is, by its first bytes; follows "this is" in messages. */
export function describeOther(bytes: Uint8Array): string {
  const head = ascii(bytes, 0, 4);
  const known = otherKinds.find(([beginning]) => head.startsWith(beginning));
  if (known) return known[1];
  if (head === 'RIFF')
    return `a RIFF file of another kind (${ascii(bytes, 8, 12)
      .replace(/[^\x20-\x7e]/g, '?')
      .trim()})`;
  if (head === 'OggS') return 'an Ogg file without a codec that we know';
  const start = bytes.subarray(0, 512);
  const isText = start.every((byte) => byte >= 0x20 || byte === 0x09 || byte === 0x0a || byte === 0x0d);
  return isText ? 'text' : 'nothing that we know';
}

/** Kilobits per second by the index in the frame header. */
const bitrates = {
  'v1-l1': [0, 32, 64, 96, 128, 160, 192, 224, 256, 288, 320, 352, 384, 416, 448],
  'v1-l2': [0, 32, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384],
  'v1-l3': [0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320],
  'v2-l1': [0, 32, 48, 56, 64, 80, 96, 112, 128, 144, 160, 176, 192, 224, 256],
  'v2-l2': [0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160],
  'v2-l3': [0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160],
} as const;

const rates = [44_100, 48_000, 32_000];

/** Whether two MPEG frames follow each other here, or one ends the file: UTF-16 texts begin with the sync code too. */
function isMpegAudio(bytes: Uint8Array, start: number): boolean {
  const frame = mpegFrame(bytes, start);
  if (!frame) return false;
  const next = start + frame.length;
  return next >= bytes.length - 4 || mpegFrame(bytes, next) !== undefined;
}

/** Duration in seconds from the Xing or Info frame of files with a variable bitrate; 0 if there is none. */
export function mpegSeconds(bytes: Uint8Array): number {
  const start = endOfTags(bytes);
  const frame = mpegFrame(bytes, start);
  if (!frame) return 0;
  const { isFirst, rate } = frame;
  const isMono = (bytes[start + 3] ?? 0) >> 6 === 3;
  // Behind the frame header and the side information, whose length depends on version and channels.
  const offset = start + 4 + (isFirst ? (isMono ? 17 : 32) : isMono ? 9 : 17);
  const mark = ascii(bytes, offset, offset + 4);
  const [flags = 0] = bytes.subarray(offset + 7, offset + 8);
  if ((mark !== 'Xing' && mark !== 'Info') || (flags & 1) === 0 || offset + 12 > bytes.length) return 0;
  const frames = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength).getUint32(offset + 8);
  return (frames * (isFirst ? 1152 : 576)) / rate;
}

/** Header of the MPEG audio frame at this offset: length in bytes, sample rate, kilobits per second, and whether it is MPEG-1. */
export function mpegFrame(bytes: Uint8Array, start: number) {
  const [first, second = 0, third = 0] = bytes.subarray(start, start + 3);
  if (first !== 0xff || (second & 0xe0) !== 0xe0) return undefined;
  const version = (second >> 3) & 3;
  const layer = 4 - ((second >> 1) & 3);
  const bitrateIndex = third >> 4;
  const fullRate = rates[(third >> 2) & 3];
  if (version === 1 || layer === 4 || bitrateIndex === 15 || fullRate === undefined) return undefined;
  const isFirst = version === 3;
  const bitrate = bitrates[`${isFirst ? 'v1' : 'v2'}-l${layer as 1 | 2 | 3}`][bitrateIndex] ?? 0;
  // Frames of free format do not declare their length; they are not used for speech.
  if (bitrate === 0) return undefined;
  const rate = fullRate / (isFirst ? 1 : version === 2 ? 2 : 4);
  const padding = (third >> 1) & 1;
  const slots = (perFrame: number): number => Math.floor((perFrame * bitrate * 1000) / rate) + padding;
  return { isFirst, rate, bitrate, length: layer === 1 ? 4 * slots(12) : slots(layer === 3 && !isFirst ? 72 : 144) };
}

/** Samples that a FLAC file declares, in a field of 36 bits in the first block; 0 if unknown. */
export function flacSamples(bytes: Uint8Array): number {
  if (bytes.length < 26) return 0;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return (view.getUint8(21) & 0x0f) * 2 ** 32 + view.getUint32(22);
}

/** A field of 20 bits in the first block. */
export function flacRate(bytes: Uint8Array): number {
  const [high = 0, middle = 0, low = 0] = bytes.subarray(18, 21);
  return (high << 12) | (middle << 4) | (low >> 4);
}

/** Bounds the memory that the decoder allocates: a page of 255 channels would take a gigabyte. */
const maxChannels = 8;
const headerBytes = 27;

interface LogicalStream {
  /** Unit of granule positions, per second. */
  readonly rate: number;
  first?: number;
  last: number;
}

/** Duration in seconds that an Ogg file declares. Each of its streams counts from its first granule position. */
export function oggSeconds(bytes: Uint8Array): number {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const file = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const open = new Map<number, LogicalStream>();
  let seconds = 0;
  for (let offset = 0; offset + headerBytes <= bytes.length; ) {
    if (view.getUint32(offset) !== 0x4f676753) {
      offset = file.indexOf('OggS', offset + 1, 'latin1');
      if (offset === -1) break;
      continue;
    }
    const isFirst = (view.getUint8(offset + 5) & 2) !== 0;
    const position = Number(view.getBigInt64(offset + 6, true));
    const serial = view.getUint32(offset + 14, true);
    const body = offset + headerBytes + view.getUint8(offset + 26);
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
    for (let at = offset + headerBytes; at < body && at < bytes.length; at++) end += view.getUint8(at);
    offset = end;
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
