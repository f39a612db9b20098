import { Readable } from 'node:stream';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { upToFormEnd } from './form.ts';

const type = 'multipart/form-data; boundary=b';
const passed = async (parts: readonly string[], contentType = type) =>
  Buffer.concat(
    await Readable.from(parts.map((part) => Buffer.from(part)))
      .pipe(upToFormEnd(contentType))
      .toArray(),
  ).toString();

test('upToFormEnd: what follows the closing delimiter is dropped', async () => {
  expect(await passed(['--b\r\n\r\n\r\nx\r\n--b--\r\n--b\r\nmore'])).toBe('--b\r\n\r\n\r\nx\r\n--b--');
});

test('upToFormEnd: the closing delimiter at the very beginning', async () => {
  expect(await passed(['--b--\r\n--b\r\nmore'])).toBe('--b--');
});

test('upToFormEnd: the boundary inside a line is not a delimiter', async () => {
  expect(await passed(['--b\r\n\r\nx--b--y\r\n--bc--\r\n'])).toBe('--b\r\n\r\nx--b--y\r\n--bc--\r\n');
});

test('upToFormEnd: a quoted boundary', async () => {
  expect(await passed(['--a b--x'], 'multipart/form-data; boundary="a b"')).toBe('--a b--');
});

test('upToFormEnd: the result does not depend on the chunks', async () => {
  const pieces = fc.array(fc.constantFrom('\r\n', '--b', '--', 'x', '\r', '\n', '-'), { maxLength: 12 });
  await fc.assert(
    fc.asyncProperty(pieces, async (parts) => {
      expect(await passed([...parts.join('')])).toBe(await passed([parts.join('')]));
    }),
  );
});
