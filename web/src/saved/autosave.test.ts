import { expect, test } from 'vitest';
import { autosave } from './autosave.ts';

interface Note {
  readonly id: string;
  readonly text: string;
}

function parts() {
  const written: Note[] = [];
  const failures: unknown[] = [];
  const timers: (() => void)[] = [];
  let broken = false;
  const saving = autosave<Note>({
    put: async (note) => {
      if (broken) throw new Error('full');
      written.push(note);
    },
    onFailure: (reason) => failures.push(reason),
    later: (run) => {
      timers.push(run);
      return () => timers.splice(timers.indexOf(run), 1);
    },
  });
  return { saving, written, failures, timers, breakIt: (value: boolean) => (broken = value) };
}

test('autosave: writes many changes of a record once', async () => {
  const { saving, written, timers } = parts();
  for (const text of ['a', 'ab', 'abc']) saving.changed({ id: '1', text });
  expect(written).toEqual([]);
  expect(timers).toHaveLength(1);
  timers[0]?.();
  await saving.flush();
  expect(written).toEqual([{ id: '1', text: 'abc' }]);
});

test('autosave: flush writes at once', async () => {
  const { saving, written, timers } = parts();
  saving.changed({ id: '1', text: 'a' });
  saving.changed({ id: '2', text: 'b' });
  await saving.flush();
  expect(written.map(({ id }) => id)).toEqual(['1', '2']);
  expect(timers).toEqual([]);
});

test('autosave: reports failed writes and retries them unless there is a newer record', async () => {
  const { saving, written, failures, breakIt } = parts();
  breakIt(true);
  saving.changed({ id: '1', text: 'old' });
  await saving.flush();
  expect(failures).toHaveLength(1);
  breakIt(false);
  saving.changed({ id: '1', text: 'new' });
  await saving.flush();
  expect(written).toEqual([{ id: '1', text: 'new' }]);
});
