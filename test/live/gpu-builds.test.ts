import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { builtPackage, factsFile, libraryName } from '../../src/packs/built.ts';
import { packageFolder, systemOf } from '../../src/packs/catalogue.ts';
import { runProgram } from './program.ts';

const packs = mkdtempSync(join(tmpdir(), 'parley-gpu-builds-'));
const before = process.env.PARLEY_PACKS;
afterAll(() => {
  if (before === undefined) delete process.env.PARLEY_PACKS;
  else process.env.PARLEY_PACKS = before;
  rmSync(packs, { recursive: true });
});

/** The place of a compiled CUDA library, with a file that no loader takes. No GPU is needed for that. */
function brokenLibrary(changes: { readonly version?: string } = {}): void {
  const folder = packageFolder(packs, builtPackage.name);
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, libraryName), 'this is no library');
  const facts = { toolkit: '13.0', architectures: ['90'], libraries: [], system: systemOf(process) };
  writeFileSync(join(folder, 'package.json'), factsFile({ ...facts, version: builtPackage.version, ...changes }));
  process.env.PARLEY_PACKS = packs;
}

const args = ['--prompt', 'Once', '--threads', '1', '--defaultgenamt', '64'];

describe.skipIf(process.platform !== 'linux')('a CUDA library that cannot be loaded', () => {
  test('without a flag: the reason in one line, and another build computes the reply', async () => {
    brokenLibrary();
    const { code, stdout, stderr } = await runProgram(args);
    expect(stderr).toMatch(
      /CUDA \(compiled here\) cannot be used here \(.*libggml-cuda\.so: .*\); going on with (?!CUDA \(compiled)/,
    );
    expect([code, stdout.trim() !== '']).toEqual([0, true]);
  });

  test('--usecuda: ends with the reason and what may help', async () => {
    brokenLibrary();
    const { code, stdout, stderr } = await runProgram([...args, '--usecuda']);
    expect(code).not.toBe(0);
    expect(stdout).toBe('');
    expect(stderr).toMatch(/could not be loaded: CUDA .* cannot be used here: .*libggml-cuda\.so: .* What may help: /);
  });

  test('of another engine version: not used, with what to type', async () => {
    brokenLibrary({ version: '0.0.1' });
    const { code, stderr } = await runProgram(args);
    expect(stderr).toContain('Not used: the compiled CUDA library is for another version of the engine (0.0.1, not');
    expect(code).toBe(0);
  });
});
