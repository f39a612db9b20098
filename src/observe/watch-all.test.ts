import { expect, test } from 'vitest';
import type { ObservedRequest, RequestObserver } from '../core/request-observer.ts';
import { watchAll } from './watch-all.ts';

const head: ObservedRequest = {
  id: 'req_1',
  method: 'POST',
  path: '/v1/messages',
  family: 'messages',
  endpoint: '/v1/messages',
  remoteAddress: '127.0.0.1',
  headers: {},
};

test('no sink wants the request: nothing is watched', () => {
  expect(watchAll([])(head)).toBeUndefined();
  expect(watchAll([() => undefined])(head)).toBeUndefined();
});

test('one sink: its watch is used as it is, so that nothing is added to the path of a token', () => {
  const only: RequestObserver = {};
  expect(watchAll([() => undefined, () => only])(head)).toBe(only);
});

test('several sinks: each gets every call that it has a method for, in order', () => {
  const seen: string[] = [];
  const watch = watchAll([
    ({ id }) => ({ replied: (status) => seen.push(`a ${id} ${status}`), wrote: (piece) => seen.push(`a ${piece}`) }),
    () => ({ replied: (status) => seen.push(`b ${status}`), ended: (how) => seen.push(`b ${how}`) }),
  ])(head);
  watch?.replied?.(200, {});
  watch?.wrote?.('hello');
  watch?.ended?.('sent');
  expect(seen).toEqual(['a req_1 200', 'b 200', 'a hello', 'b sent']);
});

test('several sinks: the first trace context is sent on', () => {
  const traced = { traceparent: '00-aa-bb-01' };
  expect(watchAll([() => ({}), () => traced])(head)?.traceparent).toBe('00-aa-bb-01');
});

test('watchAll: has no write callback if no sink has one', () => {
  expect(watchAll([() => ({}), () => ({})])(head)?.wrote).toBeUndefined();
});

test('no sink wants the events of replies: chats do not report them', () => {
  expect(watchAll([() => ({}), () => ({})])(head)?.replyEvent).toBeUndefined();
});

test('several sinks: the events of a reply go to those that want them', () => {
  const seen: string[] = [];
  const watch = watchAll([() => ({}), () => ({ replyEvent: (reply, { type }) => seen.push(`${reply} ${type}`) })])(
    head,
  );
  watch?.replyEvent?.(1, { type: 'text-delta', text: 'a' });
  expect(seen).toEqual(['1 text-delta']);
});
