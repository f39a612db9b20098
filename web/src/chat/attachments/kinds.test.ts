import { describe, expect, test } from 'vitest';
import { kindOf, refusalOf } from './kinds.ts';

test.each([
  ['photo.jpg', 'image/jpeg', 'image'],
  ['drawing.svg', 'image/svg+xml', 'text'],
  ['talk.mp3', 'audio/mpeg', 'audio'],
  ['talk.opus', '', 'audio'],
  ['paper.pdf', '', 'pdf'],
  ['paper', 'application/pdf', 'pdf'],
  ['notes.txt', 'text/plain', 'text'],
  ['data.json', 'application/json', 'text'],
  ['main.rs', '', 'text'],
  ['app.ts', 'video/mp2t', 'text'],
  ['Makefile', '', 'text'],
  ['film.mp4', 'video/mp4', 'unknown'],
  ['program.exe', 'application/x-msdownload', 'unknown'],
])('kindOf: %s of type %j is %s', (name, type, kind) => {
  expect(kindOf({ name, type })).toBe(kind);
});

describe('refusalOf', () => {
  const megabyte = 1024 * 1024;

  test('accepts supported files', () => {
    expect(refusalOf({ name: 'a.txt', type: 'text/plain', size: 10 })).toBeUndefined();
    expect(refusalOf({ name: 'a.png', type: 'image/png', size: 15 * megabyte })).toBeUndefined();
  });

  test.each([
    [{ name: 'a.zip', type: 'application/zip', size: 10 }, "Can't attach a.zip: unsupported file type."],
    [{ name: 'a.txt', type: 'text/plain', size: 0 }, "Can't attach a.txt: the file is empty."],
    [
      { name: 'a.txt', type: 'text/plain', size: 12.5 * megabyte },
      "Can't attach a.txt: 13 MB is too large. The limit for text files is 10 MB.",
    ],
    [
      { name: 'a.png', type: 'image/png', size: 99 * megabyte },
      "Can't attach a.png: 99 MB is too large. The limit for images is 15 MB.",
    ],
  ])('rejects %j with a reason', (file, reason) => {
    expect(refusalOf(file)).toBe(reason);
  });
});
