import { describe, expect, test } from 'vitest';
import { type Job, type JobState, Jobs } from './jobs.ts';

const job = (genkey: string, text: string, state: JobState = 'done', own: Partial<Job> = {}): Job => ({
  genkey,
  client: '',
  number: 1,
  kind: 'text',
  shared: false,
  text,
  state,
  logprobs: [],
  position: () => (state === 'waiting' ? { position: 1, estimateSeconds: 1 } : undefined),
  abort: () => {},
  ...own,
});

const texts = (found: readonly Job[]) => found.map(({ text }) => text);

test('Jobs: a key finds its newest request', () => {
  const jobs = new Jobs();
  jobs.add(job('a', 'old'));
  jobs.add(job('b', 'other'));
  jobs.add(job('a', 'new'));
  expect(jobs.visible('a', '')?.text).toBe('new');
  expect(jobs.visible('c', '')).toBeUndefined();
});

test.each<[string, JobState[], string[]]>([
  ['all that run', ['done', 'running', 'waiting', 'running', 'waiting'], ['1', '3']],
  ['all that wait, where none runs', ['waiting', 'done', 'waiting'], ['0', '2']],
  ['those that are done, where none is at work', ['done', 'done'], ['0', '1']],
])('Jobs: a key of several requests selects %s', (_, states, expected) => {
  const jobs = new Jobs();
  for (const [at, state] of states.entries()) jobs.add(job('k', String(at), state));
  jobs.add(job('other', 'other', 'running'));
  expect(texts(jobs.withKey('k'))).toEqual(expected);
  expect(jobs.visible('k', '')?.text).toBe(expected.at(-1));
});

describe('Jobs.running: what an abort without a genkey stops', () => {
  const queued = (text: string, client: string) => job('', text, 'waiting', { client });
  const running = (text: string, client: string, own: Partial<Job> = {}) =>
    job('', text, 'running', { client, ...own });

  test.each<[string, readonly Job[], string | undefined]>([
    ['the running one while others of the same client wait', [running('1', 'me'), queued('2', 'me')], '1'],
    ['the running one while others wait, by a client without requests', [running('1', 'a'), queued('2', 'b')], '1'],
    ['its own running one among several', [running('1', 'a'), running('2', 'me'), running('3', 'b')], '2'],
    ['the newest of its own', [running('1', 'me'), running('2', 'me')], '2'],
    ['the running one of another client before its own waiting one', [running('1', 'a'), queued('2', 'me')], '1'],
    ['its own waiting one if several of others run', [running('1', 'a'), running('2', 'b'), queued('3', 'me')], '3'],
    ['one that waits only for the model', [job('', '1', 'waiting', { position: () => undefined })], '1'],
    ['a text generation rather than a later task', [running('1', 'me'), running('2', 'me', { kind: 'speech' })], '1'],
    ['none if several of other clients run', [running('1', 'a'), running('2', 'b')], undefined],
    ['none that is finished', [job('', '1')], undefined],
  ])('%s', (_, all, expected) => {
    const jobs = new Jobs();
    for (const one of all) jobs.add(one);
    expect(jobs.running('me')?.text).toBe(expected);
  });

  test('where a password or keys separate clients: its own waiting one before the running one of another client', () => {
    const jobs = new Jobs(true);
    for (const one of [running('1', 'a'), queued('2', 'me')]) jobs.add(one);
    expect(jobs.running('me')?.text).toBe('2');
    expect(jobs.running('another')?.text).toBe('1');
  });
});

test.each<[string, string, readonly Job[], boolean]>([
  ['its own key', 'k', [job('k', 'text', 'running'), job('', '', 'waiting')], true],
  ['another key', 'x', [job('k', 'text', 'running')], false],
  ['no key, the only request has none', '', [job('', 'text', 'running')], true],
  ['no key, the last request had none', '', [job('', 'text')], true],
  ['no key, but the request has one', '', [job('k', 'text', 'running')], false],
  [
    'no key, its own one runs and others wait',
    '',
    [job('', 'text', 'running', { client: 'me' }), job('', '', 'waiting')],
    true,
  ],
  [
    'no key, one of another client runs and others wait',
    '',
    [job('', 'text', 'running'), job('', '', 'waiting')],
    false,
  ],
  ['no key, several of others run', '', [job('', 'text', 'running'), job('k', 'text', 'running')], false],
])('Jobs.visible: with %s', (_, asked, all, expected) => {
  const jobs = new Jobs();
  for (const one of all) jobs.add(one);
  expect(jobs.visible(asked, 'me')?.text).toBe(expected ? 'text' : undefined);
});

test('Jobs: forgets finished requests beyond the limit, and never a running one', () => {
  const jobs = new Jobs(false, 2);
  jobs.add(job('running', '', 'running'));
  jobs.add(job('a', ''));
  jobs.add(job('b', ''));
  jobs.add(job('c', ''));
  expect(['running', 'a', 'b', 'c'].filter((key) => jobs.visible(key, ''))).toEqual(['running', 'c']);
});

describe('Jobs: keys of --keyfile', () => {
  const of = (client: string, genkey = '', state: JobState = 'running') => job(genkey, client, state, { client });

  test('a key sees and stops its own requests only, with any genkey and without one', () => {
    const jobs = new Jobs();
    jobs.add(of('key alice', 'K1', 'done'));
    jobs.add(of('key alice', '', 'done'));
    expect(jobs.visible('', 'key bob')).toBeUndefined();
    expect(jobs.visible('K1', 'key bob')).toBeUndefined();
    jobs.add(of('key alice', 'K2'));
    expect(jobs.withKey('K2', 'key bob')).toEqual([]);
    jobs.add(of('key alice'));
    expect(jobs.running('key bob')).toBeUndefined();
    expect(jobs.visible('', 'key bob')).toBeUndefined();
    jobs.add(of('key bob', 'K2'));
    expect(jobs.withKey('K2', 'key bob').map(({ client }) => client)).toEqual(['key bob']);
    expect(jobs.withKey('K2', 'key alice').map(({ client }) => client)).toEqual(['key alice']);
  });

  test('forget: stops what runs and waits, and nothing is found any more', () => {
    const jobs = new Jobs();
    const aborted: string[] = [];
    const add = (client: string, state: JobState) =>
      jobs.add({ ...of(client, 'K', state), abort: (by) => void aborted.push(`${client} ${state} ${by}`) });
    for (const state of ['done', 'running', 'waiting'] as const) add('key alice', state);
    add('key bob', 'running');
    jobs.forget('key alice');
    expect(aborted).toEqual(['key alice running cancelled', 'key alice waiting cancelled']);
    expect(jobs.withKey('K', 'key alice')).toEqual([]);
    expect(jobs.withKey('K', 'key bob')).toHaveLength(1);
  });

  test('who has no key, or a password, neither sees nor stops those of keys', () => {
    const jobs = new Jobs();
    jobs.add(of('key alice', 'K1'));
    jobs.add(of('key alice'));
    expect(jobs.running('address 127.0.0.1')).toBeUndefined();
    expect(jobs.visible('', 'address 127.0.0.1')).toBeUndefined();
    expect(jobs.withKey('K1', 'address 127.0.0.1')).toEqual([]);
  });
});
