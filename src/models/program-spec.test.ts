import { expect, test } from 'vitest';
import { defaultSettings } from '../config/flags.ts';
import { Terminal } from '../observe/terminal.ts';
import { namedPrograms, programSpec } from './program-spec.ts';

const command = ['llama-server', '--port', '${port}'];
const terminal = new Terminal({ write: () => undefined } as never);

function spec(engine: object, settings: Partial<typeof defaultSettings>) {
  const all = { ...defaultSettings, engine: [JSON.stringify({ command, ...engine })], ...settings };
  const [named] = namedPrograms(all, 'own');
  if (!named) throw new Error('no program');
  return programSpec(named, all, terminal).spec;
}

test('programSpec: idle, pin and group of its config apply, and its own idle wins', () => {
  expect(spec({}, { idle: '10m', pin: true, group: 'g' })).toMatchObject({ idleMs: 600_000, pinned: true, group: 'g' });
  expect(spec({ idle: '5s' }, { idle: '10m' })).toMatchObject({ idleMs: 5000 });
});

test('programSpec: a program with a name of its own has only its own idle', () => {
  const named = spec({ name: 'qwen', idle: '5s' }, { idle: '10m', pin: true, group: 'g' });
  expect(named).toMatchObject({ name: 'qwen', idleMs: 5000 });
  expect(named).not.toHaveProperty('pinned');
  expect(named).not.toHaveProperty('group');
});
