import { expect, test } from 'vitest';
import type { Medium } from '../core/request.ts';
import { audioFormat, mediaType } from './openai-request.ts';

const medium = (kind: Medium['kind'], base64: string, format?: string): Medium => ({
  kind,
  base64,
  ...(format === undefined ? {} : { format }),
});

test.each([
  [medium('image', 'AAAA', 'image/webp'), 'image/webp'],
  [medium('image', '/9j/AA', 'application/octet-stream'), 'image/jpeg'],
  [medium('image', 'AAAA', 'bmp'), 'image/bmp'],
  [medium('image', 'AAAA'), 'image/png'],
  [medium('audio', 'SUQzAA'), 'audio/mpeg'],
  [medium('audio', 'AAAA', 'application/ogg'), 'application/ogg'],
  // RIFF, as WebP begins too.
  [medium('audio', 'UklGRAA'), 'audio/wav'],
])('mediaType: %j is %s', (given, type) => {
  expect(mediaType(given)).toBe(type);
});

test.each([
  ['audio/mpeg', 'mp3'],
  ['audio/x-wav', 'wav'],
  ['flac', 'flac'],
  [undefined, 'wav'],
])('audioFormat: %s is %s', (format, name) => {
  expect(audioFormat(medium('audio', 'AAAA', format))).toBe(name);
});
