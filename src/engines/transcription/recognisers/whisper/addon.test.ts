import { describe, expect, test } from 'vitest';
import { type AddonParts, loadWhisperAddon } from './addon.ts';

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

describe('the build of whisper.cpp', () => {
  test('is that of this system', () => {
    const { parts, notes } = world([base]);
    expect(loadWhisperAddon(parts)).toEqual({ addon: { folder: `/packages/${base}` }, gpu: false });
    expect(notes).toEqual([]);
  });

  test('is that for the graphics card where its pack is installed', () => {
    const { parts } = world([base, `${base}-vulkan`, `${base}-cuda`]);
    expect(loadWhisperAddon(parts)).toEqual({ addon: { folder: `/packages/${base}-cuda` }, gpu: true });
  });

  test('is the next one where that does not start, and tells why', () => {
    const { parts, notes } = world([base, `${base}-vulkan`, `${base}-cuda`], ['-cuda']);
    expect(loadWhisperAddon(parts)).toMatchObject({ addon: { folder: `/packages/${base}-vulkan` } });
    expect(notes).toEqual(['whisper-cuda could not be used: libcuda.so: cannot open']);
  });

  test('is none for graphics cards where nobody wants that', () => {
    const { parts } = world([base, `${base}-cuda`]);
    expect(loadWhisperAddon({ ...parts, cpuOnly: true }).gpu).toBe(false);
  });

  test('that is not installed is named', () => {
    expect(() => loadWhisperAddon(world([]).parts)).toThrow(
      `${base} is not installed, or there is none for this system`,
    );
  });

  test('that cannot be loaded says why', () => {
    const { parts } = world([base], [base]);
    expect(() => loadWhisperAddon(parts)).toThrow(`${base} could not be loaded: libcuda.so: cannot open`);
  });
});
