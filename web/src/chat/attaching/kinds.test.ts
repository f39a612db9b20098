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
])('%s of type %j is taken for %s', (name, type, kind) => {
  expect(kindOf({ name, type })).toBe(kind);
});

describe('a file', () => {
  const megabyte = 1024 * 1024;

  test('of a good kind and size is taken', () => {
    expect(refusalOf({ name: 'a.txt', type: 'text/plain', size: 10 })).toBeUndefined();
    expect(refusalOf({ name: 'a.png', type: 'image/png', size: 15 * megabyte })).toBeUndefined();
  });

  test.each([
    [{ name: 'a.zip', type: 'application/zip', size: 10 }, 'a.zip is no picture, sound, PDF or text.'],
    [{ name: 'a.txt', type: 'text/plain', size: 0 }, 'a.txt is empty.'],
    [
      { name: 'a.txt', type: 'text/plain', size: 2.5 * megabyte },
      'a.txt is too large: 2.5 MB. Text files may have 2 MB.',
    ],
    [{ name: 'a.png', type: 'image/png', size: 99 * megabyte }, 'a.png is too large: 99 MB. Pictures may have 15 MB.'],
  ])('%j is refused with a reason', (file, reason) => {
    expect(refusalOf(file)).toBe(reason);
  });
});
