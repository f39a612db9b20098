import { ascii } from './ascii.ts';

/** Kilobits a second, by the index in a frame's head. */
const bitrates = {
  'v1-l1': [0, 32, 64, 96, 128, 160, 192, 224, 256, 288, 320, 352, 384, 416, 448],
  'v1-l2': [0, 32, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384],
  'v1-l3': [0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320],
  'v2-l1': [0, 32, 48, 56, 64, 80, 96, 112, 128, 144, 160, 176, 192, 224, 256],
  'v2-l2': [0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160],
  'v2-l3': [0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160],
} as const;

const rates = [44_100, 48_000, 32_000];

/**
 * Whether two frames of MPEG sound follow each other here (or one ends the file). The mark of a frame is only eleven bits, and
 * texts of two bytes a character begin with it too.
 */
export function isMpegSound(bytes: Uint8Array, start: number): boolean {
  const length = frameLength(bytes, start);
  if (length === undefined) return false;
  const next = start + length;
  return next >= bytes.length - 4 || frameLength(bytes, next) !== undefined;
}

/**
 * How long a file says that it is, in seconds: the first frame of those whose bitrate changes is none, and counts the others.
 * 0 where it tells nothing.
 */
export function mpegSeconds(bytes: Uint8Array, start: number): number {
  const [, second = 0, third = 0, fourth = 0] = bytes.subarray(start, start + 4);
  if (frameLength(bytes, start) === undefined) return 0;
  const version = (second >> 3) & 3;
  const isMono = fourth >> 6 === 3;
  // Behind the head and what describes the sound of the frame, whose length depends on both.
  const place = start + 4 + (version === 3 ? (isMono ? 17 : 32) : isMono ? 9 : 17);
  const mark = ascii(bytes, place, place + 4);
  const [flags = 0] = bytes.subarray(place + 7, place + 8);
  if ((mark !== 'Xing' && mark !== 'Info') || (flags & 1) === 0 || place + 12 > bytes.length) return 0;
  const frames = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength).getUint32(place + 8);
  const rate = (rates[(third >> 2) & 3] ?? 0) / (version === 3 ? 1 : version === 2 ? 2 : 4);
  return (frames * (version === 3 ? 1152 : 576)) / rate;
}

function frameLength(bytes: Uint8Array, start: number): number | undefined {
  const [first, second = 0, third = 0] = bytes.subarray(start, start + 3);
  if (first !== 0xff || (second & 0xe0) !== 0xe0) return undefined;
  const version = (second >> 3) & 3;
  const layer = 4 - ((second >> 1) & 3);
  const bitrateIndex = third >> 4;
  const fullRate = rates[(third >> 2) & 3];
  if (version === 1 || layer === 4 || bitrateIndex === 15 || fullRate === undefined) return undefined;
  const table = `${version === 3 ? 'v1' : 'v2'}-l${layer}` as keyof typeof bitrates;
  const bitrate = bitrates[table][bitrateIndex] ?? 0;
  // The length of a frame of free format is nowhere told; nobody records speech in it.
  if (bitrate === 0) return undefined;
  const rate = fullRate / (version === 3 ? 1 : version === 2 ? 2 : 4);
  const padding = (third >> 1) & 1;
  if (layer === 1) return (Math.floor((12 * bitrate * 1000) / rate) + padding) * 4;
  const samples = layer === 3 && version !== 3 ? 72 : 144;
  return Math.floor((samples * bitrate * 1000) / rate) + padding;
}
