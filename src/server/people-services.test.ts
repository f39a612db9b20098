import { expect, test } from 'vitest';
import { defaultSettings, type Settings } from '../config/flags.ts';
import { peopleServices } from './people-services.ts';
import { builtApp } from './testing/built-app.ts';

const own: readonly [Partial<Settings>, boolean][] = [
  [{}, false],
  [{ password: '' }, false],
  [{ password: 'secret' }, true],
];

test.each(own)('peopleServices: with %j there are sessions: %j', async (settings, expected) => {
  const { people } = await peopleServices({ ...defaultSettings, ...settings }, () => undefined);
  expect(people !== undefined).toBe(expected);
});

test.each(own)(
  'app: with %j an abort without a key prefers the own waiting request: %j',
  async (settings, expected) => {
    const { jobs } = (await builtApp(settings)).requestQueue;
    const job = { genkey: '', kind: 'text', text: '', stop: () => undefined, position: () => 0 };
    jobs.add({ ...job, client: 'other', state: 'running' } as never);
    jobs.add({ ...job, client: 'me', state: 'waiting' } as never);
    expect(jobs.running('me')?.client).toBe(expected ? 'me' : 'other');
  },
);
