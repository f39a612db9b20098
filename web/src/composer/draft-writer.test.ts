import { expect, test } from 'vitest';
import { draftWriter } from './draft-writer.ts';

function writer() {
  const written: string[] = [];
  const timers = new Set<() => void>();
  const draft = draftWriter({
    write: (text) => void written.push(text),
    later: (run) => {
      timers.add(run);
      return () => void timers.delete(run);
    },
  });
  const pause = () => {
    for (const run of [...timers]) {
      timers.delete(run);
      run();
    }
  };
  return { draft, written, pause, timers };
}

test('draftWriter: many keys cost one write', () => {
  const { draft, written, pause } = writer();
  for (const text of ['a', 'ab', 'abc']) draft.changed(text);
  expect(written).toEqual([]);
  pause();
  expect(written).toEqual(['abc']);
});

test('draftWriter: flush writes at once, and only once', () => {
  const { draft, written, pause } = writer();
  draft.changed('abc');
  draft.flush();
  draft.flush();
  pause();
  expect(written).toEqual(['abc']);
});

test('draftWriter: empty text is written at once', () => {
  const { draft, written, timers } = writer();
  draft.changed('abc');
  draft.changed('');
  expect(written).toEqual(['']);
  expect(timers.size).toBe(0);
});
