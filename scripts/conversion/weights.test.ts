import { createHash } from 'node:crypto';
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { packageFolder } from '../../src/engines/package-folder.ts';
import { makeWeights, tokensText, type WeightsSource } from './weights.ts';

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');

let root: string;
let folder: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'parley-conversion-'));
  folder = join(root, 'weights');
  mkdirSync(join(root, 'package'));
  writeFileSync(join(root, 'package/source.bin'), 'abc');
});
afterEach(() => rmSync(root, { recursive: true }));

const source: WeightsSource = {
  target: { file: 'made.bin', sha256: sha256('ABC') },
  package: 'a-package',
  files: [{ path: 'source.bin', sha256: sha256('abc') }],
  write: (path, bytes) => writeFile(path, String(bytes).toUpperCase()),
};
const make = (own: Partial<WeightsSource> = {}): Promise<void> =>
  makeWeights(folder, [{ ...source, ...own }], (name) =>
    name === 'a-package' ? join(root, 'package') : packageFolder(name),
  );
const made = (): string => readFileSync(join(folder, 'made.bin'), 'utf8');

describe('makeWeights', () => {
  test('converts the files of a package, and writes the licences beside them', async () => {
    await make();
    expect(made()).toBe('ABC');
    expect(readdirSync(folder).sort()).toEqual(['LICENSES.txt', 'made.bin']);
    const notes = readFileSync(join(folder, 'LICENSES.txt'), 'utf8');
    for (const name of ['Useful Sensors', 'Silero Team', 'Kevin Scott', 'sentence-transformers']) {
      expect(notes).toContain(name);
    }
  });

  test('does not rewrite a file with the right hash', async () => {
    await make();
    const long = new Date(1_000_000);
    utimesSync(join(folder, 'made.bin'), long, long);
    await make();
    expect(statSync(join(folder, 'made.bin')).mtimeMs).toBe(long.getTime());
  });

  test.each(['', 'AB', 'ABD'])('rewrites a file that was damaged to %j', async (damaged) => {
    await make();
    writeFileSync(join(folder, 'made.bin'), damaged);
    await make();
    expect(made()).toBe('ABC');
  });

  test('removes unused files', async () => {
    mkdirSync(folder);
    writeFileSync(join(folder, 'old.bin'), '');
    await make();
    expect(readdirSync(folder)).not.toContain('old.bin');
  });

  test('throws for a source or a result with a wrong hash, and writes nothing', async () => {
    await expect(make({ files: [{ path: 'source.bin', sha256: sha256('other') }] })).rejects.toThrow(
      /source\.bin has another SHA-256/,
    );
    await expect(make({ write: (path) => writeFile(path, 'other') })).rejects.toThrow(
      `made.bin was made with the SHA-256 ${sha256('other')}`,
    );
    expect(readdirSync(folder)).not.toContain('made.bin');
  });

  test('throws for a package that is not installed', async () => {
    await expect(make({ package: 'no-such-package' })).rejects.toThrow('the package no-such-package is not installed');
  });
});

const pieces = (text: string): readonly (readonly [string, number])[] =>
  text
    .trimEnd()
    .split('\n')
    .map((line) => {
      const [base64 = '', id] = line.split(' ');
      return [Buffer.from(base64, 'base64').toString('latin1'), Number(id)] as const;
    });

test('tokensText: bytes and number of every token', () => {
  const found = pieces(tokensText(['<unk>', '▁Hello', '<0x0A>', '<0xFF>', 'é']));
  expect(found.slice(0, 5)).toEqual([
    ['<unk>', 0],
    [' Hello', 1],
    ['\n', 2],
    ['\xff', 3],
    ['\xc3\xa9', 4],
  ]);
});

test('tokensText: special tokens at the end', () => {
  const found = pieces(tokensText(['a']));
  expect(found).toHaveLength(769);
  expect(found[1]).toEqual(['<<ST_0>>', 1]);
  expect(found.at(-1)).toEqual(['<<ST_767>>', 768]);
});
