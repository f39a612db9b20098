import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { defaultSettings } from '../config/flags.ts';
import type { WhisperPack } from '../engines/transcription/whisper-onnx/pack.ts';
import type { Terminal } from '../observe/terminal.ts';
import { taskModels } from './engine-kinds.ts';
import { transcriptionModel } from './transcription-model.ts';

const folder = mkdtempSync(join(tmpdir(), 'parley-whisper-'));
afterAll(() => rmSync(folder, { recursive: true }));
const terminal = { line: () => undefined } as unknown as Terminal;
const tools = { terminal, text: { name: '', file: undefined } };

/** Only these packs are installed. */
const packs =
  (...installed: readonly string[]) =>
  ({ pack }: WhisperPack): string => {
    if (!installed.includes(pack)) throw new Error(`the pack ${pack} is not installed`);
    return `/packs/${pack}`;
  };

describe('transcriptionModel: built-in', () => {
  const { spec, given } = transcriptionModel(defaultSettings, tools, packs());

  test('is loaded at its first use, and unloaded when idle', () => {
    expect(given).toBe(false);
    expect(spec).toMatchObject({ name: 'moonshine-tiny', kind: 'transcription', auxiliary: true, keepMs: 600_000 });
  });

  test('has its memory need', async () => {
    expect(await spec.need()).toBeGreaterThan(100 * 1024 * 1024);
  });

  test('make() starts no process', () => {
    const lifecycle = spec.make();
    expect(lifecycle.state()).toEqual({ type: 'loading', progress: 0 });
    expect(lifecycle.engine.pid).toBeUndefined();
    expect(lifecycle.engine.facts()).toBeUndefined();
    expect(spec.make()).not.toBe(lifecycle);
  });
});

describe('transcriptionModel: packs', () => {
  const nameOf = (whispermodel: string, ...installed: readonly string[]) =>
    transcriptionModel({ ...defaultSettings, whispermodel }, tools, packs(...installed)).spec.name;

  test('an installed pack is preferred to the built-in model, the better one first', () => {
    expect(nameOf('', 'ears')).toBe('whisper-base');
    expect(nameOf('', 'ears', 'ears-small')).toBe('whisper-small');
  });

  test('a name selects the built-in model or a pack', () => {
    expect(nameOf('moonshine', 'ears')).toBe('moonshine-tiny');
    expect(nameOf('whisper-base', 'ears', 'ears-small')).toBe('whisper-base');
  });

  test('is loaded at its first use, and unloaded when idle', async () => {
    const { spec, given } = transcriptionModel(defaultSettings, tools, packs('ears'));
    expect(given).toBe(false);
    expect(spec).toMatchObject({ auxiliary: true, keepMs: 600_000 });
    expect(await spec.need()).toBeGreaterThan(500 * 2 ** 20);
  });

  test('languages: those of the built-in model are known before it is loaded', () => {
    expect(transcriptionModel(defaultSettings, tools, packs()).languages).toEqual(['en']);
    expect(transcriptionModel(defaultSettings, tools, packs('ears')).languages).toBeUndefined();
  });

  test('--whispermodel moonshine: the built-in model counts as one that a flag names', () => {
    expect(transcriptionModel({ ...defaultSettings, whispermodel: 'moonshine' }, tools, packs()).given).toBe(true);
  });

  test('is loaded at the start if it is named; a missing pack is the reason that it cannot be', () => {
    const { spec, given } = transcriptionModel({ ...defaultSettings, whispermodel: 'whisper-base' }, tools, packs());
    expect(given).toBe(true);
    expect(() => spec.make()).toThrow('the pack ears is not installed');
  });
});

describe('transcriptionModel: --whispermodel', () => {
  const path = join(folder, 'ggml-base.en.bin');
  writeFileSync(path, Buffer.alloc(1000));
  const { spec, given } = transcriptionModel({ ...defaultSettings, whispermodel: path }, tools);

  test('is loaded at the start, is never unloaded when idle, and counts as a model', () => {
    expect(given).toBe(true);
    expect(spec.name).toBe('ggml-base.en');
    expect([spec.auxiliary, spec.keepMs]).toEqual([undefined, undefined]);
  });

  test('needs more memory than the size of its file', async () => {
    expect(await spec.need()).toBe(1500);
  });
});

test('transcriptionModel: is one of the task models', async () => {
  const settings = { ...defaultSettings, whispermodel: 'moonshine' };
  const models = await taskModels(settings, { terminal, text: { name: '', file: undefined } } as never);
  expect(models.transcription?.spec.name).toBe('moonshine-tiny');
});
