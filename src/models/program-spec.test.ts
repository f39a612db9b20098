import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { defaultSettings } from '../config/flags.ts';
import { Terminal } from '../observe/terminal.ts';
import { type NamedProgram, namedPrograms, programSpec } from './program-spec.ts';
import { RegistryEntry } from './registry-entry.ts';

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

test('programSpec: what a program held of GPUs is counted at its next load, on the same GPUs', async () => {
  const program = fileURLToPath(new URL('../engines/program/testing/fake-engine.mjs', import.meta.url));
  const engine = { name: 'own', kind: 'text', command: [process.execPath, program, '--port', '${port}'] };
  const all = { ...defaultSettings, quiet: true, engine: [JSON.stringify(engine)] };
  const [named] = namedPrograms(all);
  const used = { name: 'CUDA1', description: 'NVIDIA', totalBytes: 100, freeBytes: 60, heldBytes: 30 };
  const { spec } = programSpec(named as NamedProgram, all, terminal, undefined, async () => [used]);
  const parts = { startTimer: () => ({ cancel: () => undefined }), now: () => 0, defaultKeepMs: () => 1000 };
  const entry = new RegistryEntry(spec, parts, { left: () => undefined, freed: () => undefined });
  expect(await entry.gpuNeed()).toBeUndefined();
  await entry.enter();
  expect(entry.listed().gpus).toEqual([used]);
  await entry.leave('requested');
  expect(await entry.gpuNeed()).toEqual({ bytes: 30, devices: ['CUDA1'] });
});
