import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { array, assert, constantFrom, property, tuple } from 'fast-check';
import { afterAll, describe, expect, test } from 'vitest';
import {
  type AddonParts,
  loadWhisperAddon,
  readWhisperHeader,
  spokenWords,
  unlessStopped,
  wholeSegments,
} from './recogniser.ts';

function run() {
  const calls: string[] = [];
  const signal = new AbortController();
  const never = new Promise<string>(() => {});
  const stop = async () => void calls.push('stop');
  return { calls, signal, never, stop };
}

test('unlessStopped: settles with the run', async () => {
  const { signal, stop, calls } = run();
  expect(await unlessStopped({ promise: Promise.resolve('heard'), stop }, signal.signal)).toBe('heard');
  const broken = Promise.reject(new Error('deaf'));
  await expect(unlessStopped({ promise: broken, stop }, signal.signal)).rejects.toThrow('deaf');
  expect(calls).toEqual([]);
});

test('unlessStopped: rejects on abort, though the addon never settles', async () => {
  const { signal, stop, calls, never } = run();
  const heard = unlessStopped({ promise: never, stop }, signal.signal);
  signal.abort(new Error('gone'));
  await expect(heard).rejects.toThrow('gone');
  expect(calls).toEqual(['stop']);
});

const folder = mkdtempSync(join(tmpdir(), 'parley-whisper-header-'));
afterAll(() => rmSync(folder, { recursive: true }));

function file(bytes: Buffer): string {
  const path = join(mkdtempSync(join(folder, 'file-')), 'model.bin');
  writeFileSync(path, bytes);
  return path;
}

function head(magic: number, tokens: number): Buffer {
  const bytes = Buffer.alloc(48);
  bytes.writeUInt32LE(magic, 0);
  bytes.writeInt32LE(tokens, 4);
  return bytes;
}

test.each([
  [51_864, false],
  [51_865, true],
  [51_866, true],
])('readWhisperHeader: a model of %i tokens is multilingual: %s', async (tokens, multilingual) => {
  expect(await readWhisperHeader(file(head(0x67676d6c, tokens)))).toEqual({ multilingual });
});

test.each([
  ['nothing at all', Buffer.alloc(0)],
  ['half of a head', head(0x67676d6c, 51_864).subarray(0, 20)],
  ['a GGUF file', Buffer.concat([Buffer.from('GGUF'), Buffer.alloc(100)])],
])('readWhisperHeader: rejects %s', async (_, bytes) => {
  await expect(readWhisperHeader(file(bytes))).rejects.toThrow('it is no Whisper model of whisper.cpp');
});

test('readWhisperHeader: names the unknown vocabulary size of another GGML model', async () => {
  await expect(readWhisperHeader(file(head(0x67676d6c, 32_000)))).rejects.toThrow('32000 tokens');
});

test('readWhisperHeader: rejects a missing file', async () => {
  await expect(readWhisperHeader(join(folder, 'nowhere.bin'))).rejects.toThrow('ENOENT');
});

const segments = (...parts: readonly (readonly [string, number, number])[]) => ({
  segments: parts.map(([text, t0, t1]) => ({ text, t0, t1 })),
});

describe('wholeSegments', () => {
  test('times are in seconds', () => {
    expect(wholeSegments(segments([' Hello there.', 0, 1500]))).toEqual([
      { text: ' Hello there.', start: 0, end: 1.5 },
    ]);
  });

  test('drops blank segments and negative durations', () => {
    expect(wholeSegments(segments(['  ', 0, 100], [' Yes.', 900, 800]))).toEqual([
      { text: ' Yes.', start: 0.9, end: 0.9 },
    ]);
  });
});

describe('spokenWords', () => {
  test('joins tokens to words', () => {
    const [sentence] = spokenWords(segments(['', 0, 0], [' lov', 100, 200], ['ely', 200, 400], [' day', 500, 600]));
    expect(sentence?.words).toEqual([
      { word: 'lovely', start: 0.1, end: 0.4 },
      { word: 'day', start: 0.5, end: 0.6 },
    ]);
    expect(sentence).toMatchObject({ text: ' lovely day', start: 0.1, end: 0.6 });
  });

  test('ends sentences at sentence marks, also in quotes', () => {
    const found = spokenWords(segments([' Go', 0, 1], ['."', 1, 2], [' No', 3, 4], ['!', 4, 5], [' And', 6, 7]));
    expect(found.map(({ text }) => text)).toEqual([' Go."', ' No!', ' And']);
  });

  test('is empty without segments', () => {
    expect(spokenWords(segments(['', 0, 0], [' ', 0, 100]))).toEqual([]);
  });

  test('keeps every letter in order', () => {
    const token = tuple(constantFrom(' a', 'b', ' c.', '!', ' d', ',', ' "e'), constantFrom(0, 10, 20));
    assert(
      property(array(token), (tokens) => {
        const parts = tokens.map(([text, length], index) => [text, index * 20, index * 20 + length] as const);
        const found = spokenWords(segments(...parts));
        expect(found.map(({ text }) => text).join('')).toBe(tokens.map(([text]) => text).join(''));
        for (const { start, end, words = [] } of found) {
          expect(words[0]?.start).toBe(start);
          expect(words.at(-1)?.end).toBe(end);
          for (const word of words) expect(word.end).toBeGreaterThanOrEqual(word.start);
        }
      }),
    );
  });
});

const base = '@fugood/node-whisper-linux-x64';

/** What is installed, and which of it cannot be loaded. */
function world(installed: readonly string[], broken: readonly string[] = []) {
  const notes: string[] = [];
  const parts: AddonParts = {
    cpuOnly: false,
    note: (text) => notes.push(text),
    system: { platform: 'linux', arch: 'x64' },
    find: (name) => (installed.includes(name) ? `/packages/${name}` : undefined),
    load: (folder) => {
      if (broken.some((name) => folder.endsWith(name))) throw new Error('libcuda.so: cannot open\nRequire stack');
      return { folder };
    },
  };
  return { parts, notes };
}

describe('loadWhisperAddon', () => {
  test('loads the build of this system', () => {
    const { parts, notes } = world([base]);
    expect(loadWhisperAddon(parts)).toEqual({ addon: { folder: `/packages/${base}` }, gpu: false });
    expect(notes).toEqual([]);
  });

  test('loads an installed GPU build', () => {
    const { parts } = world([base, `${base}-vulkan`, `${base}-cuda`]);
    expect(loadWhisperAddon(parts)).toEqual({ addon: { folder: `/packages/${base}-cuda` }, gpu: true });
  });

  test('loads the next build if one fails, with a note', () => {
    const { parts, notes } = world([base, `${base}-vulkan`, `${base}-cuda`], ['-cuda']);
    expect(loadWhisperAddon(parts)).toMatchObject({ addon: { folder: `/packages/${base}-vulkan` } });
    expect(notes).toEqual(['whisper-cuda could not be used: libcuda.so: cannot open']);
  });

  test('loads the next build instead of a pack of another version, with a note', () => {
    const { parts, notes } = world([base, `${base}-cuda`]);
    const old = mkdtempSync(join(folder, 'old-'));
    writeFileSync(join(old, 'package.json'), '{"version": "0.1.0"}');
    const find = (name: string) => (name === `${base}-cuda` ? old : parts.find?.(name));
    expect(loadWhisperAddon({ ...parts, find }).gpu).toBe(false);
    expect(notes).toEqual([
      expect.stringMatching(/the pack whisper-cuda is of another version .*\. Type: parley pack add whisper-cuda$/),
    ]);
  });

  test('cpuOnly ignores GPU builds', () => {
    const { parts } = world([base, `${base}-cuda`]);
    expect(loadWhisperAddon({ ...parts, cpuOnly: true }).gpu).toBe(false);
  });

  test('names the missing package', () => {
    expect(() => loadWhisperAddon(world([]).parts)).toThrow(
      `${base} is not installed, or there is none for this system`,
    );
  });

  test('reports why a build cannot be loaded', () => {
    const { parts } = world([base], [base]);
    expect(() => loadWhisperAddon(parts)).toThrow(`${base} could not be loaded: libcuda.so: cannot open`);
  });
});
