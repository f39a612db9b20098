import { expect, test } from 'vitest';
import { plainRequest } from '../core/testing/plain-request.ts';
import type { Job } from './jobs.ts';
import { together } from './observers.ts';
import type { TextObserver } from './text.ts';

const job: Job = {
  genkey: '',
  client: '',
  number: 1,
  kind: 'text',
  shared: false,
  state: 'running',
  text: '',
  logprobs: [],
  position: () => undefined,
  abort: () => {},
};

test('together: calls every observer in order with all arguments', () => {
  const seen: unknown[] = [];
  const note = (name: string): Required<TextObserver> => ({
    dequeued: (...all) => seen.push([name, 'dequeued', ...all]),
    sharingRefused: (...all) => seen.push([name, 'sharingRefused', ...all]),
    begun: (...all) => seen.push([name, 'begun', ...all]),
    promptProgress: (...all) => seen.push([name, 'promptProgress', ...all]),
    event: (...all) => seen.push([name, 'event', ...all]),
    aborted: (...all) => seen.push([name, 'aborted', ...all]),
    abortAsked: (...all) => seen.push([name, 'abortAsked', ...all]),
  });
  const request = plainRequest('Hello', 1);
  const event = { type: 'text-delta', text: 'x' } as const;
  const all = together([note('a'), {}, note('b')]) as Required<TextObserver>;
  all.dequeued(5);
  all.sharingRefused('media', job);
  all.begun(request, job, 512);
  all.promptProgress({ done: 1, total: 2 });
  all.event(event, job);
  all.aborted(job, 'key');
  all.abortAsked('k', true);
  const calls = [
    ['dequeued', 5],
    ['sharingRefused', 'media', job],
    ['begun', request, job, 512],
    ['promptProgress', { done: 1, total: 2 }],
    ['event', event, job],
    ['aborted', job, 'key'],
    ['abortAsked', 'k', true],
  ];
  expect(seen).toEqual(
    calls.flatMap((one) => [
      ['a', ...one],
      ['b', ...one],
    ]),
  );
});
