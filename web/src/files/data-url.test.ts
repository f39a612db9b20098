import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { blobOf } from './data-url.ts';

describe('blobOf', () => {
  test('decodes any bytes', async () => {
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ maxLength: 300 }), async (bytes) => {
        const base64 = btoa(String.fromCharCode(...bytes));
        const blob = blobOf(`data:image/png;base64,${base64}`);
        expect(blob.type).toBe('image/png');
        expect(new Uint8Array(await blob.arrayBuffer())).toEqual(bytes);
      }),
    );
  });

  test.each([
    ['data:audio/wav;codecs=1;base64,QQ==', 'audio/wav', 'A'],
    ['data:,', '', ''],
    ['nothing of the kind', 'application/octet-stream', ''],
  ])('%j has type %j and content %j', async (url, type, text) => {
    const blob = blobOf(url);
    expect(blob.type).toBe(type);
    expect(await blob.text()).toBe(text);
  });
});
