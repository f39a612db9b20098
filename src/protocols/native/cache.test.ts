import { expect, test } from 'vitest';
import { callOf } from '../testing/doubles.ts';
import { cacheEndpoint } from './cache.ts';

test('the report is told in the names of this family, and only with the key', async () => {
  const cacheReport = async () => ({
    slots: [
      { tokens: 12, busy: false },
      { tokens: 90, busy: true, checkpoints: { count: 2, bytes: 640 } },
    ],
    memory: { snapshots: 1, bytes: 50 },
    disk: { snapshots: 2, bytes: 99, health: { otherBytes: 7, failures: 1, lastFailure: 'The disk is full' } },
    misses: [{ time: 0, partedAt: 5, promptTokens: 9, reusedTokens: 4, before: 'a', kept: 'b', wanted: 'c' }],
  });
  expect(cacheEndpoint.access).toBe('guarded');
  const reply = await cacheEndpoint.handle(callOf('/api/extra/cache', {}), { cacheReport });
  expect(JSON.parse(String('body' in reply ? reply.body : ''))).toEqual({
    slots: [
      { tokens: 12, busy: false },
      { tokens: 90, busy: true, checkpoints: { count: 2, bytes: 640 } },
    ],
    memory: { snapshots: 1, bytes: 50 },
    disk: { snapshots: 2, bytes: 99, other_bytes: 7, failures: 1, last_failure: 'The disk is full' },
    misses: [
      {
        time: '1970-01-01T00:00:00.000Z',
        parted_at: 5,
        prompt_tokens: 9,
        reused_tokens: 4,
        before: 'a',
        kept: 'b',
        wanted: 'c',
      },
    ],
  });
});
