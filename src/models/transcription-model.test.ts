import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { defaultSettings } from '../config/flags.ts';
import type { Terminal } from '../observe/terminal.ts';
import { taskModels } from './engine-kinds.ts';
import { transcriptionModel } from './transcription-model.ts';

const folder = mkdtempSync(join(tmpdir(), 'parley-whisper-'));
afterAll(() => rmSync(folder, { recursive: true }));
const terminal = { line: () => undefined } as unknown as Terminal;
const tools = { terminal, text: { name: '', file: undefined } };

describe('the built-in recogniser', () => {
  const { spec, given } = transcriptionModel(defaultSettings, tools);

  test('is loaded by the first who needs it, and goes when nobody has for a while', () => {
    expect(given).toBe(false);
    expect(spec).toMatchObject({ name: 'moonshine-tiny', kind: 'transcription', auxiliary: true, keepMs: 600_000 });
  });

  test('tells what it needs', async () => {
    expect(await spec.need()).toBeGreaterThan(100 * 1024 * 1024);
  });

  test('is made without starting anything', () => {
    const life = spec.make();
    expect(life.state()).toEqual({ type: 'loading', progress: 0 });
    expect(life.engine.pid).toBeUndefined();
    expect(life.engine.facts()).toBeUndefined();
    expect(spec.make()).not.toBe(life);
  });
});

describe('a model that the command line names', () => {
  const path = join(folder, 'ggml-base.en.bin');
  writeFileSync(path, Buffer.alloc(1000));
  const { spec, given } = transcriptionModel({ ...defaultSettings, whispermodel: path }, tools);

  test('is loaded at the start, stays, and counts as a model', () => {
    expect(given).toBe(true);
    expect(spec.name).toBe('ggml-base.en');
    expect([spec.auxiliary, spec.keepMs]).toEqual([undefined, undefined]);
  });

  test('needs what its file has, and more', async () => {
    expect(await spec.need()).toBe(1500);
  });
});

test('stands among the models beside text', () => {
  expect(
    taskModels(defaultSettings, { terminal, text: { name: '', file: undefined } } as never).transcription?.spec.name,
  ).toBe('moonshine-tiny');
});
