import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { readSha256 } from './download.ts';
import { type ChooseVariant, pullModel } from './pull-model.ts';
import { testHub } from './testing/hub.ts';
import { chosenVariant, variantsOf } from './variants.ts';

const root = mkdtempSync(join(tmpdir(), 'parley-pull-model-'));
afterAll(() => rmSync(root, { recursive: true }));
const folder = () => mkdtempSync(join(root, 'models-'));
const content = (size: number, fill: number) => Buffer.alloc(size, fill);

const foo = {
  files: {
    'Q8/Foo-Q8_0-00001-of-00002.gguf': content(300_000, 1),
    'Q8/Foo-Q8_0-00002-of-00002.gguf': content(200_000, 2),
    'Foo-Q4_K_M.gguf': content(100_000, 3),
    'mmproj-F16.gguf': content(50_000, 4),
    'mmproj-F32.gguf': content(90_000, 5),
    'README.md': content(10, 6),
  },
};
const id = 'acme/Foo-GGUF';

function pulling(base: string) {
  const seen: [number, number | undefined][] = [];
  const hub = { base, token: undefined, offline: false };
  const progress = (done: number, total: number | undefined) => seen.push([done, total]);
  return { seen, parts: { hub, fetch, progress, wait: async () => {}, allowsAddress: () => true } };
}

test('pullModel: downloads all parts and the projector into the folder of the model, with one progress', async () => {
  const { base } = await testHub({ [id]: foo });
  const [target, { seen, parts }] = [folder(), pulling(base)];
  const pulled = await pullModel({ repository: id, revision: 'main', tag: 'q8_0' }, { folder: target }, parts);
  const own = join(target, 'acme--Foo-GGUF');
  expect(pulled).toEqual({
    path: join(own, 'Foo-Q8_0-00001-of-00002.gguf'),
    projector: join(own, 'mmproj-F16.gguf'),
  });
  expect(readdirSync(own)).toEqual(['Foo-Q8_0-00001-of-00002.gguf', 'Foo-Q8_0-00002-of-00002.gguf', 'mmproj-F16.gguf']);
  expect(readFileSync(pulled.path).equals(foo.files['Q8/Foo-Q8_0-00001-of-00002.gguf'])).toBe(true);
  expect(seen.at(-1)).toEqual([550_000, 550_000]);
  expect(seen.every(([done], index) => done >= (seen[index - 1]?.[0] ?? 0))).toBe(true);
});

test('pullModel: without a tag takes the usual quantization', async () => {
  const { base } = await testHub({ [id]: foo });
  const { path } = await pullModel(
    { repository: id, revision: 'main', tag: undefined },
    { folder: folder() },
    pulling(base).parts,
  );
  expect(path).toMatch(/Foo-Q4_K_M\.gguf$/);
});

test('pullModel: continues at the byte after a lost connection, and asks the hub again for the address', async () => {
  const arrived = (bytes: number): Promise<void> =>
    expect.poll(() => seen.at(-1)?.[0], { interval: 1 }).toBeGreaterThanOrEqual(bytes);
  const faults = { breakAfter: [60_000, 20_000], arrived };
  const { base, asked, stored } = await testHub({ [id]: foo }, faults);
  const { seen, parts } = pulling(base);
  const wanted = { repository: id, revision: 'main', tag: undefined };
  const { path } = await pullModel(wanted, { folder: folder() }, parts);
  expect(readFileSync(path).equals(foo.files['Foo-Q4_K_M.gguf'])).toBe(true);
  const ofModel = stored.filter(({ url }) => url.includes('Q4_K_M'));
  expect(new Set(ofModel.map(({ url }) => url)).size).toBe(3);
  expect(ofModel.map(({ range }) => range)).toEqual([undefined, 'bytes=60000-', 'bytes=80000-']);
  expect(asked.filter(({ url }) => url.includes('/resolve/'))).toHaveLength(4);
});

test('pullModel: a repository that was moved is found, and its new name is said', async () => {
  const { base, asked } = await testHub({ 'acme/Old': { files: {}, movedTo: id }, [id]: foo });
  const wanted = { repository: 'acme/Old', revision: 'main', tag: undefined };
  const pulled = await pullModel(wanted, { folder: folder() }, pulling(base).parts);
  expect(pulled).toMatchObject({ path: expect.stringContaining('acme--Old'), movedTo: id });
  expect(asked.filter(({ url }) => url.includes('/acme/Old/'))).toHaveLength(1);
});

test('pullModel: what is there already is not downloaded again', async () => {
  const { base, stored } = await testHub({ [id]: foo });
  const target = folder();
  const model = { repository: id, revision: 'main', tag: undefined };
  await pullModel(model, { folder: target }, pulling(base).parts);
  await pullModel(model, { folder: target }, pulling(base).parts);
  expect(stored).toHaveLength(2);
});

test('pullModel: a wrong hash leaves no file', async () => {
  const { base } = await testHub({ [id]: foo }, { damages: 'Foo-Q4_K_M.gguf' });
  const target = folder();
  const pulled = pullModel(
    { repository: id, revision: 'main', tag: undefined },
    { folder: target },
    pulling(base).parts,
  );
  await expect(pulled).rejects.toThrow(/the sha256 of what came is .*nothing of it is kept/);
  expect(existsSync(join(target, 'acme--Foo-GGUF', 'Foo-Q4_K_M.gguf'))).toBe(false);
});

test('pullModel: files of the same name in several folders get their own names', async () => {
  const files = { 'Q8_0/model.gguf': content(10, 1), 'Q4_0/model.gguf': content(20, 2) };
  const { base } = await testHub({ [id]: { files } });
  const target = folder();
  for (const tag of ['Q8_0', 'Q4_0'])
    await pullModel({ repository: id, revision: 'main', tag }, { folder: target }, pulling(base).parts);
  expect(readdirSync(join(target, 'acme--Foo-GGUF'))).toEqual(['Q4_0_model.gguf', 'Q8_0_model.gguf']);
  expect(statSync(join(target, 'acme--Foo-GGUF', 'Q4_0_model.gguf')).size).toBe(20);
});

test.each([
  ['Q5_K_M', foo, `${id} has no Q5_K_M; it has Q8_0, Q4_K_M`],
  [
    undefined,
    { files: { 'model.safetensors': content(1, 1) } },
    `${id} has no model file (.gguf). Look for a repository whose name ends with GGUF`,
  ],
])('pullModel: %s that is not there', async (tag, repository, sentence) => {
  const { base } = await testHub({ [id]: repository });
  const pulled = pullModel({ repository: id, revision: 'main', tag }, { folder: folder() }, pulling(base).parts);
  await expect(pulled).rejects.toThrow(sentence);
});

test('pullModel: another hash than that of the hub is refused before the download', async () => {
  const { base, stored } = await testHub({ [id]: foo });
  const wanted = { folder: folder(), expected: readSha256('00'.repeat(32)) };
  const pulled = pullModel({ repository: id, revision: 'main', tag: undefined }, wanted, pulling(base).parts);
  await expect(pulled).rejects.toThrow(/the hub names another sha256 for Foo-Q4_K_M.gguf .*nothing was downloaded/);
  expect(stored).toEqual([]);
});

test('pullModel: without a tag continues what was begun, and chooses otherwise', async () => {
  const { base } = await testHub({ [id]: foo });
  const [target, { parts }] = [folder(), pulling(base)];
  const asked: (string | undefined)[] = [];
  const choose: ChooseVariant = async ({ files }, tag) => {
    asked.push(tag);
    return chosenVariant(variantsOf(files), 'q8_0');
  };
  const options = { folder: target, choose };
  const source = { repository: id, revision: 'main', tag: undefined };
  const begun = await pullModel({ ...source, tag: 'q4_k_m' }, { folder: target }, parts);
  expect(await pullModel(source, options, parts)).toEqual(begun);
  expect(asked).toEqual([]);
  const { path } = await pullModel(source, { ...options, folder: folder() }, parts);
  expect(path).toMatch(/Foo-Q8_0-00001-of-00002\.gguf$/);
  await expect(pullModel({ ...source, tag: 'q2_k' }, { folder: target }, parts)).rejects.toThrow('has no q2_k; it has');
  expect(asked).toEqual([undefined]);
});
