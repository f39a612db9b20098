import { describe, expect, test } from 'vitest';
import { defaultSettings, type FlagKey, type Layer, type Settings } from './flags.ts';
import { type Loaded, type ReloadTarget, reloadSettings } from './load.ts';

interface World {
  readonly files?: Readonly<Record<string, object | string>>;
  readonly initial?: Partial<Settings>;
  readonly base?: string;
  readonly missing?: readonly string[];
  readonly own?: Layer;
}

function reload(target: ReloadTarget, { files = {}, initial = {}, base, missing = [], own }: World = {}): Loaded {
  const running = {
    settings: { ...defaultSettings, ...initial },
    given: new Set(Object.keys(initial) as FlagKey[]),
  };
  const sources = {
    environment: {},
    exists: (path: string) => !missing.includes(path),
    readFile: (path: string) => {
      const found = files[path];
      if (found === undefined) throw new Error('no such file');
      return typeof found === 'string' ? found : JSON.stringify(found);
    },
  };
  return reloadSettings(target, base, running, sources, own);
}

function accepted(loaded: Loaded): Extract<Loaded, { type: 'settings' }> {
  if (loaded.type !== 'settings') throw new Error(loaded.problems.map(({ sentence }) => sentence).join('\n'));
  return loaded;
}

function sentences(loaded: Loaded): string {
  if (loaded.type !== 'refused') throw new Error('not refused');
  return loaded.problems.map(({ sentence }) => sentence).join('\n');
}

const config: ReloadTarget = { type: 'config', path: 'x' };
const model: ReloadTarget = { type: 'model', path: '/m.gguf' };

describe('reloadSettings: own values', () => {
  test('override those of a config, and null stands for the default', () => {
    const own: Layer = new Map([
      ['contextsize', defaultSettings.contextsize],
      ['quantkv', null],
    ]);
    const files = { x: { contextsize: 512, quantkv: 'q8_0', genlimit: 5 } };
    const { settings, given } = accepted(reload(config, { files, own }));
    expect(settings).toMatchObject({ contextsize: defaultSettings.contextsize, quantkv: 'f16', genlimit: 5 });
    expect([...given].toSorted()).toEqual(['contextsize', 'genlimit']);
  });

  test('override the flags of the start for its model; what followed from those follows anew', () => {
    const initial = { model: ['/m.gguf'], contextsize: 512, threads: 2 };
    const own: Layer = new Map([['contextsize', 4096]]);
    const { settings, given } = accepted(reload({ type: 'initial' }, { initial, own }));
    expect(settings).toMatchObject({ ...initial, contextsize: 4096, defaultgenamt: defaultSettings.defaultgenamt });
    expect([...given].toSorted()).toEqual(['contextsize', 'model', 'threads']);
  });
});

describe('reloadSettings: selection', () => {
  test('config: unset values are the defaults, not those of the start', () => {
    const { settings } = accepted(reload(config, { files: { x: {} }, initial: { contextsize: 512, genlimit: 9 } }));
    expect(settings).toMatchObject({ contextsize: defaultSettings.contextsize, genlimit: defaultSettings.genlimit });
  });

  test('config: the base config, overridden by the file', () => {
    const files = { base: { contextsize: 512, genlimit: 5 }, x: { contextsize: 1024 } };
    const { settings, given } = accepted(reload(config, { files, base: 'base' }));
    expect(settings).toMatchObject({ contextsize: 1024, genlimit: 5 });
    expect([...given].toSorted()).toEqual(['contextsize', 'genlimit']);
  });

  test('config: an empty value of the file overrides nothing', () => {
    const base = { contextsize: 512, lora: ['/l'], chatcompletionsadapter: 'chatml' };
    const x = { contextsize: null, lora: [], chatcompletionsadapter: '' };
    const { settings } = accepted(reload(config, { files: { base, x }, base: 'base' }));
    expect(settings).toMatchObject({ contextsize: 512, lora: ['/l'], chatcompletionsadapter: 'chatml' });
  });

  test('config: a default value of the file overrides the base', () => {
    const base = { contextsize: 512, quiet: true, genlimit: 5 };
    const x = { contextsize: defaultSettings.contextsize, quiet: false, genlimit: 0 };
    expect(accepted(reload(config, { files: { base, x }, base: 'base' })).settings).toMatchObject(x);
  });

  test('model file: the base config without its model', () => {
    expect(accepted(reload(model)).settings.model).toEqual(['/m.gguf']);
    const files = { base: { model: '/other.gguf', contextsize: 512, nomodel: true } };
    const { settings } = accepted(reload(model, { files, base: 'base' }));
    expect(settings).toMatchObject({ model: ['/m.gguf'], contextsize: 512, nomodel: false });
  });

  test('no model: ignores the model of the base config', () => {
    const { settings } = accepted(reload({ type: 'unload' }, { files: { base: { model: '/b' } }, base: 'base' }));
    expect([settings.nomodel, settings.model]).toEqual([true, defaultSettings.model]);
  });

  test('initial: the settings of the start, unchanged', () => {
    const initial = { contextsize: 512, model: ['/first.gguf'] };
    const { settings, given } = accepted(reload({ type: 'initial' }, { initial, base: 'unread' }));
    expect(settings).toEqual({ ...defaultSettings, ...initial });
    expect([...given]).toEqual(['contextsize', 'model']);
  });
});

describe('reloadSettings: server settings', () => {
  const kept: Partial<Settings> = {
    port: 6001,
    host: '127.0.0.1',
    password: 'mine',
    admin: true,
    adminpassword: 'also mine',
    admindir: '/mine',
    routermode: true,
    maxmodels: 2,
    multiuser: 3,
    ratelimit: 4,
    maxrequestsize: 5,
    stalltimeout: 7,
    savedatafile: '/mine/saves',
    multiplayer: true,
    websearch: true,
    websearchurl: 'https://mine.example/',
    mcpfile: '/mine.json',
    mcpallow: ['https://mine.example/'],
    mcptimeout: 6,
  };
  const other = {
    port: 7001,
    host: '0.0.0.0',
    password: 'theirs',
    admin: false,
    adminpassword: 'theirs',
    admindir: '/theirs',
    routermode: false,
    maxmodels: 9,
    multiuser: 9,
    ratelimit: 9,
    maxrequestsize: 9,
    stalltimeout: 9,
    savedatafile: '/theirs/saves',
    multiplayer: false,
    websearch: false,
    websearchurl: 'https://theirs.example/',
    mcpfile: '/theirs.json',
    mcpallow: ['https://theirs.example/'],
    mcptimeout: 9,
  };

  test('are not changed by a config if the server has set them', () => {
    const files = { x: other, base: other };
    expect(accepted(reload(config, { files, base: 'base', initial: kept })).settings).toMatchObject(kept);
  });

  test('are not changed by a config if the server has defaults', () => {
    const changed = { ...other, admin: true, routermode: true };
    const { settings } = accepted(reload(config, { files: { x: changed } }));
    for (const key of Object.keys(kept) as FlagKey[]) expect([key, settings[key]]).toEqual([key, defaultSettings[key]]);
  });

  test('are kept for a bare model and for no model', () => {
    expect(accepted(reload(model, { initial: kept })).settings).toMatchObject(kept);
    expect(accepted(reload({ type: 'unload' }, { initial: kept })).settings).toMatchObject(kept);
  });
});

describe('reloadSettings: errors', () => {
  test('a missing file', () => {
    expect(sentences(reload(config))).toBe('Cannot read config `x`: no such file.');
  });

  test('a missing base config', () => {
    expect(sentences(reload(model, { base: 'base' }))).toContain('Cannot read config `base`');
  });

  test.each(['{ "contextsize": ', 'nonsense', '[]', '7', ''])('a file with the content %j', (x) => {
    expect(sentences(reload(config, { files: { x } }))).toMatch(/\.$/);
  });

  test.each([
    ['contextsize', 'many'],
    ['contextsize', -1],
    ['genlimit', {}],
  ])('a file whose %s is %j', (key, value) => {
    expect(sentences(reload(config, { files: { x: { [key]: value } } }))).toContain(key);
  });

  test('all errors of both files together', () => {
    const files = { base: { contextsize: 'many' }, x: { genlimit: 'few' } };
    const text = sentences(reload(config, { files, base: 'base' }));
    expect(text).toContain('contextsize');
    expect(text).toContain('genlimit');
  });

  test('a missing model of the config', () => {
    const world = { files: { x: { model_param: '/gone.gguf' } }, missing: ['/gone.gguf'] };
    expect(sentences(reload(config, world))).toContain('/gone.gguf does not exist');
  });
});
