import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { defaultSettings, type Settings } from '../config/flags.ts';
import { onnxMetadata } from '../engines/speech/sherpa/onnx-metadata.ts';
import { tinyOnnx } from '../engines/speech/sherpa/testing/tiny-onnx.ts';
import type { Terminal } from '../observe/terminal.ts';
import { samplesIn, speechModel } from './speech-model.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'speech-model-'));
});
afterEach(() => rm(folder, { recursive: true }));

const noPack = (): never => {
  throw new Error('the pack voices is not installed. Run: parley pack add voices');
};
const pack = () => ({ model: '/m', voices: '/v', espeak: '/e' });

function world(own: Partial<Settings> = {}, findPack: typeof pack = noPack) {
  const lines: string[] = [];
  const terminal = { line: (text: string) => lines.push(text) } as unknown as Terminal;
  const model = speechModel(
    { ...defaultSettings, ...own },
    { terminal, text: { name: '', file: undefined } },
    findPack,
  );
  if (!model) throw new Error('there is no voice');
  return { ...model, lines };
}

describe('speechModel: built-in', () => {
  test('is available without flags, loaded at its first use and unloaded when idle', () => {
    const { given, spec, maxWords } = world();
    expect(given).toBe(false);
    expect(maxWords).toBe(4096);
    expect(spec).toMatchObject({ name: 'flite', kind: 'speech', auxiliary: true, keepMs: 600_000 });
  });

  test('has its facts before it is loaded', async () => {
    const { voices, lines } = world();
    expect((await voices()).map(({ name }) => name)).toEqual(['slt', 'rms', 'awb', 'kal16', 'kal']);
    expect(lines).toEqual([]);
  });

  test('lists the samples of the folder after its own voices', async () => {
    await writeFile(join(folder, 'aunt.WAV'), '');
    const { voices } = world({ ttsdir: folder });
    expect((await voices()).at(-1)).toMatchObject({ name: 'aunt.WAV', sample: true });
  });

  test('has its memory need, and make() returns it', async () => {
    const { spec } = world();
    expect(await spec.need()).toBeGreaterThan(2 ** 26);
    const lifecycle = spec.make();
    expect(lifecycle.state()).toEqual({ type: 'loading', progress: 0 });
  });
});

describe('speechModel: the pack voices', () => {
  test('is the default once it is installed, loaded at its first use and unloaded when idle', async () => {
    const { given, spec, voices, exactVoices, lines } = world({}, pack);
    expect(given).toBe(false);
    expect(exactVoices).toBe(true);
    expect(spec).toMatchObject({ name: 'kokoro', auxiliary: true, keepMs: 600_000 });
    expect((await voices())[0]?.name).toBe('af_heart');
    expect(await spec.need()).toBeGreaterThan(2 ** 29);
    expect(lines).toEqual([]);
  });

  test('--ttsmodel flite: the built-in voice, as a model that a flag names', () => {
    const { spec, given } = world({ ttsmodel: 'flite' }, pack);
    expect([spec.name, given]).toEqual(['flite', true]);
  });

  test('--ttsmodel kokoro: fails without the pack, with what to do', async () => {
    expect(world({ ttsmodel: 'kokoro' }, pack).given).toBe(true);
    await expect(world({ ttsmodel: 'kokoro' }).spec.need()).rejects.toThrow('Run: parley pack add voices');
  });
});

describe('speechModel: --ttsmodel', () => {
  const layKokoro = async () => {
    const metadata = onnxMetadata(new Map([['n_speakers', '11']]));
    await writeFile(join(folder, 'model.onnx'), Buffer.concat([tinyOnnx(), metadata]));
    await writeFile(join(folder, 'voices.bin'), '');
    await writeFile(join(folder, 'tokens.txt'), '');
    const { mkdir } = await import('node:fs/promises');
    await mkdir(join(folder, 'espeak-ng-data'));
    await writeFile(join(folder, 'espeak-ng-data', 'phontab'), '');
  };

  test('is loaded at the start and never unloaded when idle', async () => {
    await layKokoro();
    const { given, spec, voices } = world({ ttsmodel: folder, ttsmaxlen: 9 });
    expect(given).toBe(true);
    expect(spec.keepMs).toBeUndefined();
    expect((await voices()).map(({ name }) => name)).toContain('bf_emma');
    expect(await spec.need()).toBeGreaterThan(2 ** 26);
  });

  test('reports that it does not use the GPU', async () => {
    await layKokoro();
    const { spec, lines } = world({ ttsmodel: folder, ttsgpu: true });
    await spec.need();
    expect(lines).toEqual(['--ttsgpu has no effect: speech is computed on the CPU.']);
  });

  test('rejects an unusable file in one sentence', async () => {
    const path = join(folder, 'outetts.gguf');
    await writeFile(path, 'GGUF');
    const { spec } = world({ ttsmodel: path });
    expect(spec.name).toBe('outetts.gguf');
    await expect(spec.need()).rejects.toThrow(/not possible yet. What is: a Piper voice/);
  });

  test('is named by its file', () => {
    expect(world({ ttsmodel: '/voices/en_US-lessac-medium.onnx' }).spec.name).toBe('en_US-lessac-medium');
  });
});

describe('samplesIn', () => {
  test('returns the recordings of a folder by name', async () => {
    for (const name of ['b.mp3', 'a.wav', 'notes.txt', 'c.flac']) await writeFile(join(folder, name), '');
    expect((await samplesIn(folder)).map(({ name }) => name)).toEqual(['a.wav', 'b.mp3']);
  });

  test.each(['', '/no/such/folder'])('is empty for %j', async (place) => {
    expect(await samplesIn(place)).toEqual([]);
  });

  test('is empty for a file', async () => {
    await writeFile(join(folder, 'a.wav'), '');
    expect(await samplesIn(join(folder, 'a.wav'))).toEqual([]);
  });
});
