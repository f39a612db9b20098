import { expect, test } from 'vitest';
import { defaultSettings, type Settings } from '../config/flags.ts';
import { batchingSettings } from './text-engine.ts';

const blocked = (changes: Partial<Settings>) =>
  batchingSettings({ ...defaultSettings, noshift: true, ...changes }).blocked;

test('batchingSettings: takes the number of parallel requests and --batchall', () => {
  const settings = { ...defaultSettings, parallelrequests: 4, batchall: true, noshift: true };
  expect(batchingSettings(settings)).toEqual({ parallelRequests: 4, batchAll: true, blocked: false });
});

test.each([
  { noshift: false },
  { smartcontext: true },
  { smartcache: 1 },
  { draftmodel: 'draft.gguf' },
  { usemtp: true },
  { enableguidance: true },
])('batchingSettings: %o blocks batching', (changes) => {
  expect([blocked({}), blocked(changes)]).toEqual([false, true]);
});
