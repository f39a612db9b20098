import { expect, test } from 'vitest';
import type { Standing } from '../core/request.ts';
import { standingNotices } from './notices.ts';

test('a client is told where it stands at first, then only when that has changed, and no more once its turn has come', () => {
  const standings: (Standing | undefined)[] = [
    { position: 3, estimateSeconds: 15 },
    { position: 3, estimateSeconds: 14 },
    { position: 2, estimateSeconds: 9 },
    { position: 4, estimateSeconds: 19 },
    undefined,
  ];
  const { next, milliseconds } = standingNotices(() => standings.shift());
  expect([1, 2, 3, 4, 5].map(() => next())).toEqual([
    ': queue position 3, about 15 s\n\n',
    '',
    ': queue position 2, about 9 s\n\n',
    ': queue position 4, about 19 s\n\n',
    undefined,
  ]);
  expect(milliseconds).toBe(1000);
});
