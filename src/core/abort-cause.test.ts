import { expect, test } from 'vitest';
import { Aborted, abortCause } from './abort-cause.ts';

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
