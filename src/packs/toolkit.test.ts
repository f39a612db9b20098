import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { findNvcc } from './toolkit.ts';

function rootWith(names: readonly string[]): string {
  const root = mkdtempSync(join(tmpdir(), 'parley-toolkit-'));
  onTestFinished(() => rmSync(root, { recursive: true }));
  for (const name of names) {
    mkdirSync(join(root, name, 'bin'), { recursive: true });
    writeFileSync(join(root, name, 'bin', 'nvcc'), '');
  }
  return root;
}

test.each([
  [['cuda-9.2', 'cuda-12.4', 'cuda-12.10', 'cuda'], 'cuda-12.10'],
  [['cuda-12', 'cuda-12.1', 'cuda-11.8'], 'cuda-12.1'],
  [['cuda-12.1', 'cuda-12'], 'cuda-12.1'],
  [['cuda', 'cuda-11'], 'cuda-11'],
  [['cuda', 'cuda-keyring-13', 'curl'], 'cuda'],
])('findNvcc: of the toolkits %j it takes %s', (names, latest) => {
  const root = rootWith(names);
  expect(findNvcc({}, root)).toBe(join(root, latest, 'bin', 'nvcc'));
});

test('findNvcc: one on the PATH comes before all toolkits', () => {
  const root = rootWith(['cuda-12.4', 'mine']);
  const folder = join(root, 'mine', 'bin');
  expect(findNvcc({ PATH: folder }, root)).toBe(join(folder, 'nvcc'));
});
