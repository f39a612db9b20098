import { describe, expect, test } from 'vitest';
import type { Standing } from '../core/request.ts';
import { standingComment, standingNotices } from './notices.ts';

test('a client is told where it stands at first, then only when that has changed, and no more once its turn has come', () => {
  const standings: (Standing | undefined)[] = [
    { type: 'queued', position: 3, estimateSeconds: 15 },
    { type: 'queued', position: 3, estimateSeconds: 14 },
    { type: 'queued', position: 2, estimateSeconds: 9 },
    { type: 'queued', position: 4, estimateSeconds: 19 },
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

describe('a client that waits for a model', () => {
  const loading = (progress: number, model = 'mini'): Standing => ({ type: 'loading', model, progress });
  const told = (...standings: (Standing | undefined)[]) => {
    let asked = 0;
    const { next } = standingNotices(() => standings[asked++]);
    return Array.from(standings, () => next());
  };

  test('is told how far it is, in whole parts of a hundred, when that has changed', () => {
    expect(told(loading(0), loading(0.004), loading(0.419), loading(0.42), loading(0.999), undefined)).toEqual([
      ': loading mini, 0 %\n\n',
      '',
      ': loading mini, 41 %\n\n',
      ': loading mini, 42 %\n\n',
      ': loading mini, 99 %\n\n',
      undefined,
    ]);
  });

  test('is told so after its place in the queue, whatever the figures are', () => {
    expect(told({ type: 'queued', position: 1, estimateSeconds: 4 }, loading(0.01), loading(0.01, 'other'))).toEqual([
      ': queue position 1, about 4 s\n\n',
      ': loading mini, 1 %\n\n',
      ': loading other, 1 %\n\n',
    ]);
  });

  test('sees its progress go back where the load begins anew', () => {
    expect(told(loading(0.8), loading(0))).toEqual([': loading mini, 80 %\n\n', ': loading mini, 0 %\n\n']);
  });

  test.each([
    [-1, 0],
    [0.5, 50],
    [1, 100],
    [7, 100],
  ])('reads %d as %d %', (progress, percent) => {
    expect(standingComment(loading(progress))).toBe(`: loading mini, ${percent} %\n\n`);
  });

  test('never reads the name of a file as a frame', () => {
    const comment = standingComment(loading(0, 'a\n\ndata: {"forged":true}\r\nb'));
    expect(comment).toBe(': loading a data: {"forged":true} b, 0 %\n\n');
  });
});
