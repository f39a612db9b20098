import { expect, test } from 'vitest';
import { type Job, type JobState, Jobs } from './jobs.ts';

const job = (genkey: string, text: string, state: JobState = 'done'): Job => ({
  genkey,
  text,
  state,
  logprobs: [],
  standing: () => undefined,
  abort: () => {},
});

test('a key finds its newest request', () => {
  const jobs = new Jobs();
  jobs.add(job('a', 'old'));
  jobs.add(job('b', 'other'));
  jobs.add(job('a', 'new'));
  expect(jobs.find('a')?.text).toBe('new');
  expect(jobs.find('c')).toBeUndefined();
});

test('without a key the newest that has begun is found', () => {
  const jobs = new Jobs();
  jobs.add(job('', 'running', 'running'));
  jobs.add(job('', 'waiting', 'waiting'));
  expect(jobs.find('')?.text).toBe('running');
});

test.each([
  ['its own key', 'k', 'k', 3, true],
  ['no key, nobody waiting, a request without a key', '', '', 0, true],
  ['no key, but others wait', '', '', 1, false],
  ['no key, but the request has one', 'k', '', 0, false],
  ['another key', 'k', 'x', 0, false],
])('with %s a request can be seen: %#', (_, owner, asked, waiting, expected) => {
  const jobs = new Jobs();
  jobs.add(job(owner, 'text'));
  expect(jobs.visible(asked, waiting) !== undefined).toBe(expected);
});

test('only so many finished requests are remembered, and none that is still at work is forgotten', () => {
  const jobs = new Jobs(2);
  jobs.add(job('running', '', 'running'));
  jobs.add(job('a', ''));
  jobs.add(job('b', ''));
  jobs.add(job('c', ''));
  expect(['running', 'a', 'b', 'c'].filter((key) => jobs.find(key))).toEqual(['running', 'c']);
});
