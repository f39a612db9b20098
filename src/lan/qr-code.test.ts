import { createHash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { type QrCode, qrCode, qrLines, qrPath } from './qr-code.ts';

/** Row by row, a digit for each module. */
const modules = ({ size, isDark }: QrCode): string =>
  Array.from({ length: size ** 2 }, (_, index) => Number(isDark(index % size, Math.floor(index / size)))).join('');

const letters = (length: number): string => 'abcdefghijklmnopqrstuvwxyz'.repeat(100).slice(0, length);

describe('qrCode', () => {
  // The same modules were computed by the package `qrcode` 1.5.4 with the same mask, and read by `jsqr` 1.4.0.
  test.each([
    [1, 21, '2e7add7dfd3288d4'],
    [14, 21, 'b7204b68a1b8dbbc'],
    [15, 25, '09a567e4970e8ede'],
    [42, 29, '34566883de0a8471'],
    [84, 37, 'aef6b299e863ef48'],
    [106, 41, 'b515018a02f41cfd'],
    [122, 45, '3b67287785c6a50a'],
    [180, 53, '3baa924ec52bb0a7'],
    [213, 57, '6f81924d07ff4b25'],
    [214, 61, '28761cc7f8ca9dd9'],
    [504, 85, '5448877611760e9e'],
    [911, 113, '6a209c503b3d35d2'],
    [1722, 153, '97028179cb52a2f2'],
    [2331, 177, '42013c7c122a69a4'],
  ])('a text of %i bytes has %i modules on each side, equal to those of other encoders', (length, size, digest) => {
    const code = qrCode(letters(length));
    expect(code.size).toBe(size);
    expect(createHash('sha256').update(modules(code)).digest('hex').slice(0, 16)).toBe(digest);
  });

  test('refuses a text that no version holds', () => {
    expect(() => qrCode(letters(2332))).toThrow('A QR code cannot hold 2332 bytes.');
  });

  test('counts the bytes of UTF-8, not the characters', () => {
    expect(qrCode('é'.repeat(7)).size).toBe(21);
    expect(qrCode('é'.repeat(8)).size).toBe(25);
  });
});

test('qrLines: two modules above each other in a character, blocks are light', () => {
  expect(qrLines(qrCode('Hello, Parley'), 0)).toEqual([
    ' ▄▄▄▄▄ ██ █▄██ ▄▄▄▄▄ ',
    ' █   █ █ █ ▄▀█ █   █ ',
    ' █▄▄▄█ █  ▀▀▄█ █▄▄▄█ ',
    '▄▄▄▄▄▄▄█ ▀▄█▄█▄▄▄▄▄▄▄',
    ' █▄   ▄▀█ ▄▄▀█▄▄▄  █▀',
    '▀▄█▄█▀▄▄▄ ▀▀ ▀█▀█  ▄█',
    '█▄▄██▄▄▄▀▀ ▀██▄ ▀▀██▄',
    ' ▄▄▄▄▄ █▀ █   █ █▀  █',
    ' █   █ █ ▄▄▄▄▄▄▀ ▀█▄▄',
    ' █▄▄▄█ █▄ ▄▄ ▀▄▄▀▀ ██',
    '▄▄▄▄▄▄▄█▄▄█▄██▄█▄██▄█',
  ]);
});

test('qrLines: the quiet zone is light', () => {
  const lines = qrLines(qrCode('Hello, Parley'));
  expect(lines).toHaveLength(13);
  expect(lines[0]).toBe('█'.repeat(25));
  expect(lines.every((line) => line.startsWith('██') && line.endsWith('██'))).toBe(true);
});

test('qrPath: a rectangle for each run of dark modules in a row', () => {
  const code: QrCode = { size: 3, isDark: (x, y) => (y === 0 && x >= 0 && x < 2) || (y === 2 && x === 2) };
  expect(qrPath(code)).toBe('M0 0h2v1H0zM2 2h1v1H2z');
});
