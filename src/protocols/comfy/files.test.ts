import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { annotatedName, ComfyFiles, isPlainFolder, isPlainName, outputName } from './files.ts';

const file = (length: number) => ({ bytes: new Uint8Array(length), contentType: 'image/png' });
const at = (name: string) => ({ type: 'input', subfolder: '', name }) as const;

describe('the store', () => {
  test('keeps pictures by their kind, folder and name', () => {
    const files = new ComfyFiles();
    files.put(at('a.png'), file(1));
    files.put({ type: 'output', subfolder: 'x/y', name: 'a.png' }, file(2));
    expect(files.get(at('a.png'))?.bytes).toHaveLength(1);
    expect(files.get({ type: 'output', subfolder: 'x/y', name: 'a.png' })?.bytes).toHaveLength(2);
    expect(files.get({ type: 'temp', subfolder: '', name: 'a.png' })).toBeUndefined();
    files.put({ type: 'input', subfolder: 'f', name: 'b.png' }, file(1));
    expect(files.sent()).toEqual(['a.png', 'f/b.png']);
  });

  test('lets the oldest go when there are too many', () => {
    const files = new ComfyFiles({ bytes: 100, entries: 2 });
    for (const name of ['a', 'b', 'c']) files.put(at(name), file(1));
    expect(files.sent()).toEqual(['b', 'c']);
  });

  test('never holds more than its limit, but always the newest', () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.constantFrom('a', 'b', 'c', 'd'), fc.integer({ min: 1, max: 60 })), { minLength: 1 }),
        (puts) => {
          const files = new ComfyFiles({ bytes: 100, entries: 3 });
          for (const [name, length] of puts) {
            files.put(at(name), file(length));
            const lengths = files.sent().map((each) => files.get(at(each))?.bytes.length ?? 0);
            expect(lengths.reduce((sum, each) => sum + each, 0)).toBeLessThanOrEqual(100);
            expect(lengths.length).toBeLessThanOrEqual(3);
            expect(files.get(at(name))?.bytes).toHaveLength(length);
          }
        },
      ),
    );
  });
});

describe('a name', () => {
  test.each([
    ['a.png', { type: 'input', subfolder: '', name: 'a.png' }],
    ['f/a b.png [output]', { type: 'output', subfolder: 'f', name: 'a b.png' }],
    ['a.png [temp]', { type: 'temp', subfolder: '', name: 'a.png' }],
    ['a [x].png', { type: 'input', subfolder: '', name: 'a [x].png' }],
  ])('%j is understood', (text, place) => expect(annotatedName(text, 'input')).toEqual(place));

  test.each([
    '',
    '/etc/passwd',
    '../a.png',
    'f/../../a.png',
    '..',
    '.',
    'f//a.png',
    'a\\b.png',
    'a\0.png',
    'a\n.png',
    'x'.repeat(256),
    'f/',
  ])('%j leads nowhere', (text) => {
    expect(annotatedName(text, 'input')).toBeUndefined();
  });

  test('is plain only where nothing in it leads elsewhere', () => {
    expect(isPlainName('ph oto (1).png')).toBe(true);
    expect(isPlainFolder('a/b')).toBe(true);
    expect(['..', 'a/..', '/a', 'a/', 'a//b', '.'].map(isPlainFolder)).toEqual([
      false,
      false,
      false,
      false,
      false,
      false,
    ]);
  });
});

describe('the name of what was drawn', () => {
  const now = new Date(Date.UTC(2026, 0, 15, 9, 30, 5));

  test.each([
    ['demo', { subfolder: '', name: 'demo_00007_.png' }],
    ['a/b/c d', { subfolder: 'a/b', name: 'c_d_00007_.png' }],
    ['../../etc/x', { subfolder: 'etc', name: 'x_00007_.png' }],
    ['', { subfolder: '', name: 'ComfyUI_00007_.png' }],
    ['%date:yyyy-MM-dd%_x', { subfolder: '', name: '2026-01-15_x_00007_.png' }],
    ['%KSampler.seed%', { subfolder: '', name: '_KSampler.seed__00007_.png' }],
  ])('%j', (prefix, name) => expect(outputName(prefix, 7, now)).toEqual(name));

  test('needs no quoting anywhere, whatever was asked for', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (prefix) => {
        const { subfolder, name } = outputName(prefix, 1, now);
        expect(name).toMatch(/^[A-Za-z0-9._-]+_00001_\.png$/);
        expect(isPlainName(name) && isPlainFolder(subfolder)).toBe(true);
        expect(encodeURI(`${subfolder}/${name}`)).toBe(`${subfolder}/${name}`);
      }),
    );
  });
});
