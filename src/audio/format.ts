import { ascii } from './ascii.ts';
import { isMpegSound } from './format-mpeg.ts';

export type SoundFormat =
  | 'wav'
  | 'mp3'
  | 'flac'
  | 'ogg-opus'
  | 'ogg-vorbis'
  | 'ogg-flac'
  | 'ogg-speex'
  | 'webm'
  | 'mp4'
  | 'aac'
  | 'aiff'
  | 'amr'
  | 'asf'
  | 'caf';

/** As a sentence calls it. */
export const formatTitles: Readonly<Record<SoundFormat, string>> = {
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

/** What the bytes are, whatever the name or the client says; undefined for what is no sound that we know. */
export function soundFormat(bytes: Uint8Array): SoundFormat | undefined {
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

/** The first page of a stream names its codec. */
function oggFormat(bytes: Uint8Array): SoundFormat | undefined {
  const page = ascii(bytes, 26, 120);
  if (page.includes('OpusHead')) return 'ogg-opus';
  if (page.includes('\x01vorbis')) return 'ogg-vorbis';
  if (page.includes('\x7fFLAC')) return 'ogg-flac';
  return page.includes('Speex   ') ? 'ogg-speex' : undefined;
}

/** Sound without a container, or with a tag in front. */
function taggedFormat(bytes: Uint8Array): SoundFormat | undefined {
  const start = endOfTags(bytes);
  if (start > 0 && ascii(bytes, start, start + 4) === 'fLaC') return 'flac';
  if (isAdts(bytes, start)) return 'aac';
  if (isMpegSound(bytes, start)) return 'mp3';
  // Between a tag and the first frame there may be anything, which decoders pass over.
  return start > 0 && start < bytes.length ? 'mp3' : undefined;
}

/** Behind all ID3 tags that stand in front. */
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

/** What something is that is no sound, as far as its first bytes tell; fits behind "this is". */
export function describeOther(bytes: Uint8Array): string {
  const head = ascii(bytes, 0, 4);
  const known = otherKinds.find(([beginning]) => head.startsWith(beginning));
  if (known) return known[1];
  if (head === 'RIFF') return `a RIFF file of another kind (${printable(ascii(bytes, 8, 12))})`;
  if (head === 'OggS') return 'an Ogg file without a codec that we know';
  const start = bytes.subarray(0, 512);
  const isText = start.every((byte) => byte >= 0x20 || byte === 0x09 || byte === 0x0a || byte === 0x0d);
  return isText ? 'text' : 'nothing that we know';
}

function printable(text: string): string {
  return text.replace(/[^\x20-\x7e]/g, '?').trim();
}
