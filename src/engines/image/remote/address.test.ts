import { describe, expect, test } from 'vitest';
import { readRemote } from './address.ts';

describe('the address of another server', () => {
  test.each([
    ['http://127.0.0.1:7860', 'http://127.0.0.1:7860'],
    ['localhost:8188/', 'http://localhost:8188'],
    ['https://draw.invalid/sd/?x=1#y', 'https://draw.invalid/sd'],
  ])('%s', (text, url) => {
    expect(readRemote([text], {})).toEqual({ url });
  });

  test.each(['', 'ftp://x', 'http://', 'http://a b'])('%j is none', (text) => {
    expect(() => readRemote([text], {})).toThrow('is no address');
  });

  test('may have its kind and a key behind it, the key by the name of a variable', () => {
    expect(readRemote(['x:1', 'key=env:SD_KEY', 'kind=comfy'], { SD_KEY: 'secret' })).toEqual({
      url: 'http://x:1',
      key: 'secret',
      kind: 'comfy',
    });
  });

  test('has no key in the open, none from an empty variable, and nothing else behind it', () => {
    expect(() => readRemote(['x:1', 'key=secret'], {})).toThrow('key=env:NAME');
    expect(() => readRemote(['x:1', 'key=env:SD_KEY'], {})).toThrow('nothing in the environment variable SD_KEY');
    expect(() => readRemote(['x:1', 'kind=other'], {})).toThrow('kind=other is none of');
    expect(() => readRemote(['x:1', 'more'], {})).toThrow('more is none of');
  });
});
