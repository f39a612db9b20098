import { expect, test } from 'vitest';
import { recordedRequests, recordedTexts } from './recorded-trace.ts';

const tokens = (first: number, count: number) => Array.from({ length: count }, (_, index) => first + index);
const first = { startedAt: 1000, endedAt: 3000, prompt: tokens(0, 100), reply: 10 };

test('recordedRequests: the next turn is the turn before, its reply and what is new', () => {
  const next = {
    startedAt: 3500,
    endedAt: 4000,
    prompt: [...first.prompt, ...tokens(500, 10), ...tokens(600, 5)],
    reply: 3,
  };
  expect(recordedRequests([first, next])).toEqual([
    { afterMs: 0, prompt: [100], reply: 10 },
    { after: 0, afterMs: 500, prompt: [[0, 0, 110], 5], reply: 3 },
  ]);
});

test('recordedRequests: a request that quotes a chat names the passage', () => {
  const title = {
    startedAt: 3100,
    endedAt: 3200,
    prompt: [...tokens(700, 7), ...first.prompt.slice(20, 60), 800],
    reply: 4,
  };
  expect(recordedRequests([first, title])[1]?.prompt).toEqual([7, [0, 20, 40], 1]);
});

test('recordedRequests: requests at the same time follow the last one that had ended', () => {
  const sideRequest = { startedAt: 3600, endedAt: 9000, prompt: tokens(900, 30), reply: 1 };
  const [, one, other] = recordedRequests([
    first,
    sideRequest,
    { ...sideRequest, startedAt: 3700, prompt: tokens(950, 30) },
  ]);
  expect([one, other]).toMatchObject([
    { after: 0, afterMs: 600 },
    { after: 0, afterMs: 700 },
  ]);
});

test('recordedTexts: have the lengths and the shared passages of the trace', () => {
  const title = {
    startedAt: 3100,
    endedAt: 3200,
    prompt: [...tokens(700, 7), ...first.prompt.slice(20, 60), 800],
    reply: 4,
  };
  const requests = recordedRequests([first, title]);
  const [chat, quoting] = recordedTexts(requests);
  expect(quoting?.prompt).toHaveLength(48);
  expect(quoting?.prompt.slice(7, 47)).toEqual(chat?.prompt.slice(20, 60));
  expect(new Set([...(chat?.prompt ?? []), ...(chat?.reply ?? [])]).size).toBe(110);
});

test('recordedTexts: a turn waits for the turn that it continues, even if another request ended later', () => {
  const sideRequest = { startedAt: 3000, endedAt: 3500, prompt: tokens(900, 30), reply: 1 };
  const next = { startedAt: 3600, endedAt: 4000, prompt: [...first.prompt, ...tokens(500, 15)], reply: 3 };
  expect(recordedTexts(recordedRequests([first, sideRequest, next])).map(({ waitsFor }) => waitsFor)).toEqual([
    [],
    [0],
    [0, 1],
  ]);
});
