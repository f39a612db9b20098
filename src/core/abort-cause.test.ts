import { expect, test } from 'vitest';
import { Aborted, abortCause } from './abort-cause.ts';

test('a signal tells who aborted it, also through others that follow it', () => {
  const controller = new AbortController();
  const following = AbortSignal.any([controller.signal, new AbortController().signal]);
  controller.abort(new Aborted('shutdown'));
  expect([abortCause(controller.signal), abortCause(following)]).toEqual(['shutdown', 'shutdown']);
});

test('one that was aborted without a word means that nobody reads any more', () => {
  expect(abortCause(AbortSignal.abort())).toBe('unread');
});

test('it is thrown like any other abort', () => {
  const signal = AbortSignal.abort(new Aborted('client-gone'));
  expect(() => signal.throwIfAborted()).toThrow(expect.objectContaining({ name: 'AbortError' }));
});
