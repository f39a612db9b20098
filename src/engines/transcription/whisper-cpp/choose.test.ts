import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { type BuildDeps, chooseBuild } from './choose.ts';

const folder = mkdtempSync(join(tmpdir(), 'parley-whisper-build-'));
afterAll(() => rmSync(folder, { recursive: true }));

const base = '@fugood/node-whisper-linux-x64';
const library = '@spader/node-whisper-cpp-x64-linux-cpu-gnu';

/** What is installed, and which of it cannot be loaded. */
function world(installed: readonly string[], broken: readonly string[] = []) {
  const notes: string[] = [];
  const parts: BuildDeps = {
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

describe('chooseBuild', () => {
  const advice = expect.stringContaining('pack add whisper-cpu');

  test('loads the build of this system', () => {
    const { parts, notes } = world(['@fugood/node-whisper-linux-arm64']);
    const system = { platform: 'linux', arch: 'arm64' } as const;
    expect(chooseBuild({ ...parts, system })).toEqual({
      type: 'addon',
      addon: { folder: '/packages/@fugood/node-whisper-linux-arm64' },
      gpu: false,
    });
    expect(notes).toEqual([]);
  });

  test('Linux x64: prefers the library, which has AVX', () => {
    const { parts, notes } = world([base, library]);
    expect(chooseBuild(parts)).toEqual({ type: 'library', folder: join('/packages', library, 'bins') });
    expect(notes).toEqual([]);
  });

  test('Linux x64 without the library: loads the addon and says how to get the faster one', () => {
    const { parts, notes } = world([base]);
    expect(chooseBuild(parts)).toEqual({ type: 'addon', addon: { folder: `/packages/${base}` }, gpu: false });
    expect(notes).toEqual([advice]);
  });

  test('loads an installed GPU build, also where the library is installed', () => {
    const { parts } = world([base, library, `${base}-vulkan`, `${base}-cuda`]);
    expect(chooseBuild(parts)).toEqual({ type: 'addon', addon: { folder: `/packages/${base}-cuda` }, gpu: true });
  });

  test('loads the next build if one fails, with a note', () => {
    const { parts, notes } = world([base, `${base}-vulkan`, `${base}-cuda`], ['-cuda']);
    expect(chooseBuild(parts)).toMatchObject({ addon: { folder: `/packages/${base}-vulkan` } });
    expect(notes).toEqual(['whisper-cuda could not be used: libcuda.so: cannot open']);
  });

  test.each([
    [`${base}-cuda`, 'whisper-cuda', [advice]],
    [library, 'whisper-cpu', []],
  ])('loads the next build instead of %s of another version, with a note', (name, pack, others) => {
    const { parts, notes } = world([base]);
    const old = mkdtempSync(join(folder, 'old-'));
    writeFileSync(join(old, 'package.json'), '{"version": "0.1.0"}');
    const find = (each: string) => (each === name ? old : parts.find?.(each));
    expect(chooseBuild({ ...parts, find })).toMatchObject({ type: 'addon', gpu: false });
    const note = `the pack ${pack} is of another version \\(.*\\)\\. Run: parley pack add ${pack}$`;
    expect(notes).toEqual([expect.stringMatching(note), ...others]);
  });

  test('cpuOnly ignores GPU builds', () => {
    const { parts } = world([base, `${base}-cuda`]);
    expect(chooseBuild({ ...parts, cpuOnly: true })).toMatchObject({ gpu: false });
  });

  test('names the missing package', () => {
    expect(() => chooseBuild(world([]).parts)).toThrow(`${base} is not installed, or there is none for this system`);
  });

  test('reports why a build cannot be loaded', () => {
    const { parts } = world([base], [base]);
    expect(() => chooseBuild(parts)).toThrow(`${base} could not be loaded: libcuda.so: cannot open`);
  });
});
