import { expect, test } from 'vitest';
import { linkAbort } from './link-abort.ts';

test('linkAbort: aborts with the reason of the signal, also of one that was aborted before', () => {
  for (const early of [true, false]) {
    const [own, other] = [new AbortController(), new AbortController()];
    if (early) other.abort('gone');
    linkAbort(own, other.signal);
    other.abort('gone');
    expect([own.signal.aborted, own.signal.reason]).toEqual([true, 'gone']);
  }
});

test('linkAbort: not after its release, and never without a signal', () => {
  const [own, other] = [new AbortController(), new AbortController()];
  linkAbort(own, undefined).release();
  linkAbort(own, other.signal).release();
  other.abort();
  expect(own.signal.aborted).toBe(false);
});
