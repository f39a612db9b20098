import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { Terminal } from '../observe/terminal.ts';
import { fakeToolkit } from '../packs/testing/fake-toolkit.ts';
import { jobsFor } from './pack-build.ts';
import { packCommand } from './pack-command.ts';
import type { ProbeResult } from './probe.ts';

const root = mkdtempSync(join(tmpdir(), 'parley-pack-build-'));
afterAll(() => rmSync(root, { recursive: true, force: true }));

const gpu = { name: 'a fake card', graphics: true, freeBytes: 8e9, totalBytes: 9e9 };

/** A machine with fake tools (see `fakeToolkit`), and a probe that answers so. */
function world(probed: ProbeResult = { type: 'loaded', devices: [gpu] }) {
  const place = mkdtempSync(join(root, 'machine-'));
  const { environment, source } = fakeToolkit(place);
  const run = async (args: string, { arch = 'x64', platform = 'linux' as NodeJS.Platform } = {}) => {
    let output = '';
    const code = await packCommand({
      args: args.split(' '),
      folder: join(place, 'packs'),
      terminal: new Terminal({ write: (text) => (output += text), interactive: false, columns: 200 }),
      fetch: () => Promise.reject(new Error('there is no network')),
      findPackage: () => Promise.reject(new Error('there is no network')),
      now: () => 0,
      system: { platform, arch: arch as NodeJS.Architecture },
      environment,
      probe: async () => probed,
    });
    return { code, output };
  };
  return { run, source };
}

// The fake programs are shell scripts.
describe.skipIf(process.platform === 'win32')('pack build, with fake programs', () => {
  test('says what it compiles, how far it is, and which GPU the result works with; list and remove know it', async () => {
    const { run, source } = world();
    expect((await run('list')).output).toContain('cuda-built      not compiled: parley pack build cuda.');
    const { code, output } = await run(`build cuda --source ${source} --jobs 2`);
    expect(code).toBe(0);
    expect(output).toMatch(/toolkit 13\.0\.88, for compute capability 90, 2 files at once/);
    expect(output).toContain('Compiling: 50% [1/2]');
    expect(output).toMatch(/cuda-built is installed, in .*\nIt works with: a fake card, .* free\.\n$/);
    expect((await run('list')).output).toContain('cuda-built      compiled here (toolkit 13.0.88, for 90).');
    expect((await run('verify cuda-built')).output).toBe('cuda-built: intact, 2 files checked.\n');
    expect((await run('remove cuda-built')).output).toBe('cuda-built is gone.\n');
    expect((await run('list')).output).toContain('cuda-built      not compiled');
  });

  test('takes architectures and the number of jobs from its options', async () => {
    const { run, source } = world();
    const { output } = await run(`build cuda --source ${source} --arch 86,90 --jobs 4`);
    expect(output).toContain('for compute capability 86, 90, 4 files at once');
  });

  test('a library that does not work here is named as such', async () => {
    const { run, source } = world({ type: 'failed', reason: 'no kernel image' });
    expect((await run(`build cuda --source ${source}`)).output).toContain('It cannot be used here: no kernel image\n');
  });

  test('a failure is one sentence', async () => {
    const { run } = world();
    const { code, output } = await run('build cuda');
    expect([code, output]).toEqual([3, 'The CUDA engine was not compiled: there is no network\n']);
  });

  test('other systems are refused', async () => {
    const { run } = world();
    expect(await run('build cuda', { platform: 'win32' })).toMatchObject({
      code: 2,
      output: expect.stringContaining('on Linux only, not on this system (win32-x64)'),
    });
  });

  test.each(['build', 'build vulkan', 'build cuda --arch', 'build cuda --arch fast', 'build cuda --jobs 0'])(
    '%j fails with the usage',
    async (args) => {
      expect(await world().run(args)).toMatchObject({ code: 2, output: expect.stringContaining('pack build cuda') });
    },
  );
});

test('jobsFor: as many as there are processors, with two gigabytes each', () => {
  expect(jobsFor(16, 128 * 2 ** 30)).toBe(16);
  expect(jobsFor(16, 7 * 2 ** 30)).toBe(3);
  expect(jobsFor(2, 0)).toBe(1);
});
