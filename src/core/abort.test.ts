import { getEventListeners } from 'node:events';
import { expect, test } from 'vitest';
import { Aborted, abortCause, linkAbort, unlessAborted } from './abort.ts';

test('abortCause: is the cause of the first signal, also through dependent signals', () => {
  const controller = new AbortController();
  const following = AbortSignal.any([controller.signal, new AbortController().signal]);
  controller.abort(new Aborted('shutdown'));
  expect([abortCause(controller.signal), abortCause(following)]).toEqual(['shutdown', 'shutdown']);
});

test('abortCause: is "unread" for an abort without a cause', () => {
  expect(abortCause(AbortSignal.abort())).toBe('unread');
});

test('Aborted: is thrown as an AbortError', () => {
  const signal = AbortSignal.abort(new Aborted('client-gone'));
  expect(() => signal.throwIfAborted()).toThrow(expect.objectContaining({ name: 'AbortError' }));
});

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

const never = new Promise<void>(() => undefined);

test('unlessAborted: settles as the work does', async () => {
  const { signal } = new AbortController();
  expect(await unlessAborted(Promise.resolve(7), signal)).toBe(7);
  await expect(unlessAborted(Promise.reject(new Error('broken')), signal)).rejects.toThrow('broken');
  expect(await unlessAborted(Promise.resolve(8), undefined)).toBe(8);
});

test('unlessAborted: rejects with the reason of the signal, also if already aborted', async () => {
  const stop = new AbortController();
  const waiting = unlessAborted(never, stop.signal);
  stop.abort(new Error('gone'));
  await expect(waiting).rejects.toThrow('gone');
  await expect(unlessAborted(never, stop.signal)).rejects.toThrow('gone');
});

test('unlessAborted: removes its listener when the work is done', async () => {
  const { signal } = new AbortController();
  await unlessAborted(Promise.resolve(), signal);
  await Promise.resolve();
  expect(getEventListeners(signal, 'abort')).toHaveLength(0);
});
