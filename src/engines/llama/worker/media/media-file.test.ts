import { expect, test } from 'vitest';
import { checkFile } from './media-file.ts';

const png = (width: number, height: number) => {
  const file = Buffer.alloc(40);
  file.write('89504e470d0a1a0a', 'hex');
  file.writeUInt32BE(width, 16);
  file.writeUInt32BE(height, 20);
  return file;
};

test.each([
  ['image', png(10_000, 10_000)],
  ['audio', Buffer.from('RIFF....WAVEfmt ')],
  ['audio', Buffer.from('fLaC....................')],
  ['audio', Buffer.from('ID3.....................')],
  ['audio', Buffer.concat([Buffer.from([0xff, 0xfb]), Buffer.alloc(20)])],
] as const)('%s that may be one passes', (kind, file) => expect(() => checkFile(kind, file, 1)).not.toThrow());

test.each([
  [
    'image',
    png(10_001, 10_000),
    'images must be pictures of at most 100 million pixels, and number 3 has 10001 × 10000.',
  ],
  ['image', png(0, 5), 'images must be PNG, JPEG, GIF or BMP pictures in base64, and number 3 cannot be read as one.'],
  ['image', Buffer.from('RIFF....WAVEfmt '), 'number 3 cannot be read as one'],
  ['audio', png(5, 5), 'audio must be WAV, MP3 or FLAC sounds in base64, and number 3 cannot be read as one.'],
  ['audio', Buffer.from('RIFF....AVI '), 'audio must be'],
  ['audio', Buffer.alloc(3), 'audio must be'],
] as const)('%s that is something else is refused in words', (kind, file, sentence) =>
  expect(() => checkFile(kind, file, 3)).toThrow(sentence),
);
