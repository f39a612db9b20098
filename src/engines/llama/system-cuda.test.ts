import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import koffi from 'koffi';
import { expect, test } from 'vitest';
import { engineSource } from '../../packs/catalogue.ts';
import { installedBuilds, systemCuda } from './gpu-builds.ts';

/** A machine with these files. */
function search(files: Readonly<Record<string, string>>, { arch = 'x64', libraryPath = '' } = {}) {
  const logged: string[] = [];
  const cuda = systemCuda((sentence) => logged.push(sentence), {
    exists: (path) => Object.hasOwn(files, path),
    read: (path) => Buffer.from(files[path] ?? '', 'latin1'),
    arch,
    libraryPath,
  });
  return { cuda, logged };
}

const same = `x\0${engineSource.ggml}\0${engineSource.commit}\0y`;

test('systemCuda: the library of the same llama.cpp, in the usual folders', () => {
  const folder = '/usr/lib/x86_64-linux-gnu';
  const library = `${folder}/ggml/backends0/libggml-cuda.so`;
  const base = `${folder}/libggml-base.so.0`;
  expect(search({ [library]: '', [base]: same })).toEqual({ cuda: { library, base }, logged: [] });
  expect(search({})).toEqual({ cuda: undefined, logged: [] });
});

test('systemCuda: LD_LIBRARY_PATH comes first, other architectures have other folders', () => {
  const files = {
    '/opt/llama/libggml-cuda.so': '',
    '/opt/llama/libggml-base.so': same,
    '/usr/lib/aarch64-linux-gnu/libggml-cuda.so': '',
    '/usr/lib/aarch64-linux-gnu/libggml-base.so.0': same,
  };
  const libraryPath = 'relative:/opt/llama';
  expect(search(files, { arch: 'arm64', libraryPath }).cuda?.library).toBe('/opt/llama/libggml-cuda.so');
  expect(search(files, { arch: 'arm64' }).cuda?.library).toContain('aarch64');
  expect(search(files).cuda).toBeUndefined();
});

test.each([
  ['of another commit', `x\0${engineSource.ggml}\0abcdef0\0`],
  ['of another version', `x\0${engineSource.ggml}1\0${engineSource.commit}\0`],
  ['that says nothing', ''],
])('systemCuda: a library %s is not used, with the reason', (_, content) => {
  const { cuda, logged } = search({ '/usr/lib/libggml-cuda.so': '', '/usr/lib/libggml-base.so.0': content });
  expect(cuda).toBeUndefined();
  expect(logged).toEqual([expect.stringMatching(/^\/usr\/lib\/libggml-cuda\.so is not of the same llama\.cpp/)]);
});

test('systemCuda: a library without its base library is not used', () => {
  expect(search({ '/usr/lib/libggml-cuda.so': '' }).logged).toHaveLength(1);
});

test('engineSource: is what the installed engine package says', () => {
  const folder = installedBuilds().get('none')?.folder ?? '';
  const name = { linux: 'libggml-base.so', darwin: 'libggml-base.dylib', win32: 'ggml-base.dll' }[
    process.platform as 'linux'
  ];
  const library = koffi.load(join(folder, name));
  const ask = (text: string) => (library.func(text) as unknown as () => string)();
  expect(ask('const char *ggml_version(void)')).toBe(engineSource.ggml);
  expect(ask('const char *ggml_commit(void)')).toBe(engineSource.commit);
  const content = readFileSync(join(folder, name), 'latin1');
  expect(content).toContain(`\0${engineSource.ggml}\0`);
  expect(content).toContain(`\0${engineSource.commit}\0`);
});
