import { describe, expect, test } from 'vitest';
import { defaultSettings, type FlagKey, type Settings } from '../config/flags.ts';
import { readModelFile } from '../engines/llama/load-options.ts';
import { Terminal } from '../observe/terminal.ts';
import { prepareModel } from './prepared-model.ts';
import { embeddedModel } from './text-engine.ts';

const lines: string[] = [];
const terminal = new Terminal({ interactive: false, write: (text: string) => void lines.push(text) } as never);

async function prepared(changes: Partial<Settings> = {}) {
  const file = await readModelFile(embeddedModel);
  const given = new Set(Object.keys(changes) as FlagKey[]);
  return prepareModel({ name: 'mini', settings: { ...defaultSettings, ...changes }, given, file }, terminal);
}

describe('prepareModel', () => {
  test('has name, settings and chat format of its file, and is not loaded', async () => {
    const { name, spec, format, settings, known } = await prepared({ genlimit: 5 });
    expect([name, spec.name, spec.kind, settings.genlimit]).toEqual(['mini', 'mini', 'text', 5]);
    expect(format.templateText).toContain('im_start');
    expect(known()).toBeUndefined();
  });

  test('knows its context size', async () => {
    expect((await prepared({ contextsize: 512 })).contextSize).toBe(512);
  });

  test.each<[string, Partial<Settings>, Partial<Settings>, number]>([
    ['the default is limited to the training context', {}, { contextsize: 1_000_000 }, 2048],
    ['--contextsize is kept', { contextsize: 5000 }, {}, 5000],
    [
      '--overridenativecontext replaces the training context',
      { overridenativecontext: 300 },
      { contextsize: 8192 },
      300,
    ],
    ['--overridekv replaces the metadata', { overridekv: 'llama.context_length=int:700' }, { contextsize: 8192 }, 700],
  ])('has the context size of its engine: %s', async (_, given, defaults, expected) => {
    const file = await readModelFile(embeddedModel);
    const settings = { ...defaultSettings, ...defaults, ...given };
    const wanted = { name: 'mini', settings, given: new Set(Object.keys(given) as FlagKey[]), file };
    const { contextSize, spec } = await prepareModel(wanted, terminal);
    expect(contextSize).toBe(expected);
    expect(spec.make().engine.contextSize()).toBe(contextSize);
  });

  test('has the requested context size without a model', async () => {
    const settings = { ...defaultSettings, contextsize: 777 };
    const { contextSize, spec } = await prepareModel(
      { name: '', settings, given: new Set(), file: undefined },
      terminal,
    );
    expect([contextSize, spec.make().engine.contextSize()]).toEqual([777, 777]);
  });

  test('rejects settings that do not fit the file, before an engine is made', async () => {
    await expect(prepared({ overridekv: 'nonsense' })).rejects.toThrow(/overridekv/);
  });

  test('needs more memory for a longer context and for more parallel requests', async () => {
    const need = async (changes: Partial<Settings>) => (await prepared(changes)).spec.need();
    const [short, long] = [await need({ contextsize: 256 }), await need({ contextsize: 1024 })];
    expect(short).toBeGreaterThan(0);
    expect(long).toBeGreaterThan(short);
  });

  test('make() returns a new engine each time', async () => {
    const { spec } = await prepared();
    const [first, second] = [spec.make(), spec.make()];
    expect(first).not.toBe(second);
    expect(first.engine).not.toBe(second.engine);
    expect(first.state().type).toBe('loading');
  });

  test('without a file: needs no memory and is ready', async () => {
    const wanted = { name: 'none', settings: defaultSettings, given: new Set<FlagKey>(), file: undefined };
    const { spec, format } = await prepareModel(wanted, terminal);
    expect([await spec.need(), spec.make().engine.state(), format.templateText]).toEqual([
      0,
      { type: 'none' },
      undefined,
    ]);
  });

  test('rejects an unreadable chat template in one sentence', async () => {
    await expect(prepared({ jinja: true, jinjatemplate: '/nowhere/template' })).rejects.toThrow(
      /--jinjatemplate: .*cannot be read/,
    );
  });
});
