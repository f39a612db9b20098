import { expect, test } from 'vitest';
import { type Job, type JobState, Jobs } from './jobs.ts';

const job = (genkey: string, text: string, state: JobState = 'done'): Job => ({
  genkey,
  number: 1,
  kind: 'text',
  shared: false,
  text,
  state,
  logprobs: [],
  standing: () => undefined,
  abort: () => {},
});

const texts = (found: readonly Job[]) => found.map(({ text }) => text);

test('a key finds its newest request', () => {
  const jobs = new Jobs();
  jobs.add(job('a', 'old'));
  jobs.add(job('b', 'other'));
  jobs.add(job('a', 'new'));
  expect(jobs.visible('a', 0)?.text).toBe('new');
  expect(jobs.visible('c', 0)).toBeUndefined();
});

test.each<[string, JobState[], string[]]>([
  ['all that run', ['done', 'running', 'waiting', 'running', 'waiting'], ['1', '3']],
  ['all that wait, where none runs', ['waiting', 'done', 'waiting'], ['0', '2']],
  ['those that are done, where none is at work', ['done', 'done'], ['0', '1']],
])('a key that several have means %s', (_, states, expected) => {
  const jobs = new Jobs();
  for (const [at, state] of states.entries()) jobs.add(job('k', String(at), state));
  jobs.add(job('other', 'other', 'running'));
  expect(texts(jobs.meant('k', 2))).toEqual(expected);
  expect(jobs.visible('k', 2)?.text).toBe(expected.at(-1));
});

test('no key means the only request that runs, or the last that did', () => {
  const jobs = new Jobs();
  jobs.add(job('', 'done'));
  expect(texts(jobs.meant('', 0))).toEqual(['done']);
  jobs.add(job('', 'running', 'running'));
  expect(texts(jobs.meant('', 0))).toEqual(['running']);
  expect(texts(jobs.meant('', 1))).toEqual([]);
});

test.each(['', 'k'])('no key means none while several run: the other with the key %j', (genkey) => {
  const jobs = new Jobs();
  jobs.add(job(genkey, 'one', 'running'));
  jobs.add(job('', 'two', 'running'));
  expect(texts(jobs.meant('', 0))).toEqual([]);
  expect(jobs.visible('', 0)).toBeUndefined();
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
  expect(['running', 'a', 'b', 'c'].filter((key) => jobs.visible(key, 0))).toEqual(['running', 'c']);
});
