import { expect, test } from 'vitest';
import { isNewerConfig, readConfigFile, writeConfigFile } from './config-file.ts';
import { defaultSettings, type Settings } from './flags.ts';

const read = (object: object, allowOnready = false) => {
  const { values, notes, problems } = readConfigFile(JSON.stringify(object), { allowOnready });
  return { values: Object.fromEntries(values), notes, sentences: problems.map(({ sentence }) => sentence) };
};
const write = (changes: Partial<Settings>, kind: 'config' | 'template' = 'config') =>
  JSON.parse(writeConfigFile({ ...defaultSettings, ...changes }, kind));

test.each([
  [{ model_param: 'a.gguf' }, { model: ['a.gguf'] }],
  [{ model: 'a.gguf' }, { model: ['a.gguf'] }],
  [{ model: ['a.gguf', 'b.gguf'] }, { model: ['a.gguf', 'b.gguf'] }],
  [{ model_param: 'a.gguf', model: null }, { model: ['a.gguf'] }],
  [{ model_param: 'a.gguf', model: ['a.gguf', 'b.gguf'] }, { model: ['a.gguf', 'b.gguf'] }],
  [{ model_param: 'a.gguf', model: ['b.gguf'] }, { model: ['a.gguf'] }],
  [{ model_param: '', model: 'b.gguf' }, { model: ['b.gguf'] }],
  [{ port: 8080, port_param: 5001 }, { port: 8080 }],
  [{ port: 5001, port_param: 8080 }, { port: 8080 }],
  [{ usecublas: ['normal', '0'] }, { usecuda: ['normal', '0'] }],
  [{ blasbatchsize: 1024 }, { batchsize: 1024 }],
  [{ flashattention: false }, { noflashattention: true }],
  [{ flashattention: true }, { noflashattention: false }],
  [{ flashattention: false, noflashattention: false }, { noflashattention: false }],
  [{ noswa: false, useswa: false }, { noswa: false }],
  [{ useswa: true }, { noswa: false }],
  [{ sdt5xxl: 't5' }, { sdllm: 't5' }],
  [
    { sdclipl: 'l', sdclipg: 'g' },
    { sdclip1: 'l', sdclip2: 'g' },
  ],
  [{ sdnotile: true }, { sdtiledvae: 0 }],
  [{ sdnotile: false }, {}],
  [{ sdgendefaults: '{"steps": 4}' }, { gendefaults: { steps: 4 } }],
  [{ gendefaults: { steps: 4 } }, { gendefaults: { steps: 4 } }],
  [{ jinja_kwargs: '{"a": 1}' }, { jinja_kwargs: { a: 1 } }],
  [{ preloadstory: { savedsettings: {} } }, { preloadstory: '{"savedsettings":{}}' }],
  [{ contextsize: null, istemplate: false }, {}],
])('readConfigFile: %j gives %j', (object, expected) => {
  expect(read(object)).toMatchObject({ values: expected, sentences: [] });
});

test('readConfigFile: reports unknown keys and ignores them', () => {
  expect(read({ quiet: true, shiny: 1, newer: 2 })).toEqual({
    values: { quiet: true },
    notes: ['Config values not known here and ignored: shiny, newer.'],
    sentences: [],
  });
});

test('readConfigFile: ignores a command in a file unless it is allowed', () => {
  expect(read({ onready: 'rm -r x' })).toMatchObject({
    values: {},
    notes: ['Config value ignored: onready would run a command; allow it with --allow-config-onready.'],
  });
  expect(read({ onready: 'echo x' }, true).values).toEqual({ onready: 'echo x' });
  expect(read({ onready: '' }).notes).toEqual([]);
});

test('readConfigFile: ignores settings that only the command line may set', () => {
  expect(read({ allow_config_onready: true, onready: 'rm -r x', config: 'other.kcpps' }).values).toEqual({});
});

test('readConfigFile: a template does not set the backend', () => {
  const { values, notes } = read({ istemplate: true, usevulkan: [0], contextsize: 4096 });
  expect(values).toEqual({ contextsize: 4096 });
  expect(notes).toEqual(['Config value ignored: usevulkan of a template is chosen by this machine.']);
});

test('readConfigFile: rejects a wrong value by its key', () => {
  expect(read({ contextsize: 1 }).sentences).toEqual([
    'In the config file, contextsize needs a whole number from 256 to 524288, not 1.',
  ]);
});

test.each(['', '[]', '"text"', '{"a":'])('readConfigFile: rejects %j', (text) => {
  const { problems } = readConfigFile(text, { allowOnready: false });
  expect(problems).toMatchObject([{ exitCode: 2 }]);
});

test('readConfigFile: ignores a leading byte order mark', () => {
  expect(readConfigFile('\uFEFF{"quiet":true}', { allowOnready: false }).values.get('quiet')).toBe(true);
});

test('writeConfigFile: has the keys that KoboldCpp reads', () => {
  const object = write({ model: ['a.gguf'], port: 8080 });
  expect(object).toMatchObject({ model_param: 'a.gguf', port: 8080, istemplate: false, gendefaults: '', ssl: null });
  expect(object).not.toHaveProperty('model');
});

test('writeConfigFile: omits flags of a single start', () => {
  const object = write({ version: true, analyze: 'x', exportconfig: 'y', allow_config_onready: true, unpack: 'z' });
  const never = ['version', 'analyze', 'exportconfig', 'exporttemplate', 'allow_config_onready', 'unpack', 'config'];
  for (const key of [...never, 'help', 'testmemory', 'agent_api_key', 'agent_base_url', 'run_bundled_agent']) {
    expect(object).not.toHaveProperty(key);
  }
});

test('writeConfigFile: a template omits machine settings and secrets', () => {
  const object = write({ password: 'secret', usevulkan: [0], threads: 8, usemmap: true, splitmode: 'row' }, 'template');
  expect(object).toMatchObject({
    istemplate: true,
    password: null,
    usevulkan: null,
    usecpu: null,
    config: null,
    threads: -1,
    gpulayers: -1,
    usemmap: false,
    splitmode: 'layer',
  });
});

test('readConfigFile: refuses a file of a newer version, and says what to do', () => {
  const { values, problems } = readConfigFile('{"file_version": 2, "port": 1}', {
    allowOnready: false,
    path: 'x.kcpps',
  });
  expect(values.size).toBe(0);
  expect(problems.map(({ sentence }) => sentence)).toEqual([
    'Cannot read config `x.kcpps`: it was written by a newer version of Parley (file version 2; this one reads up to 1); update Parley, or use another file.',
  ]);
});

test.each([
  ['{"file_version": 2}', true],
  ['{"file_version": "next"}', true],
  ['{"file_version": 1}', false],
  ['{"port": 5001}', false],
  ['{', false],
])('isNewerConfig: %s is %s', (text, expected) => {
  expect(isNewerConfig(text)).toBe(expected);
});

test('readConfigFile: an error repeats neither a secret nor the text around the fault', () => {
  for (const text of ['{"password": ["secret"]}', '{"adminpassword": {"a": "secret"}}', '{"password": secret}']) {
    const { problems } = readConfigFile(text, { allowOnready: false });
    expect(problems).toHaveLength(1);
    expect(JSON.stringify(problems)).not.toContain('secret');
  }
});

test('writeConfigFile: engine programs are objects, and read again as they were; a template has none', () => {
  const one = JSON.stringify({ name: 'a', command: ['x', '${port}'] });
  expect(write({ engine: [one] }).engine).toEqual({ name: 'a', command: ['x', '${port}'] });
  const engine = [one, 'b=y --port ${port}'];
  expect(write({ engine }).engine).toEqual([{ name: 'a', command: ['x', '${port}'] }, 'b=y --port ${port}']);
  expect(read(write({ engine })).values.engine).toEqual(engine);
  expect(write({ engine }, 'template').engine).toBeNull();
  expect(write({}).engine).toBeNull();
});
