import { describe, expect, test } from 'vitest';
import { readConfigFile } from '../config/config-file.ts';
import { tabNames } from '../config/flag.ts';
import { defaultSettings, type FlagKey, flagKeys, flagOf, settingsFrom } from '../config/flags.ts';
import { parseCommandLine } from '../config/parse.ts';
import { commandLine, configText, formValues, launcherForm, launcherTabs, readValues } from './form.ts';

const form = launcherForm();
const layerOf = (sent: unknown) => {
  const written = readValues(sent);
  if (written.type === 'refused') throw new Error(written.problems.join(' '));
  return written.layer;
};

describe('launcherTabs', () => {
  test('have the known names, and none is empty', () => {
    expect(form.tabs.map(({ name }) => name)).toEqual([...tabNames]);
    for (const { name, keys } of form.tabs) expect(keys.length, name).toBeGreaterThan(2);
  });

  test('contain every config file setting exactly once after the first tab', () => {
    const placed = launcherTabs()
      .filter(({ name }) => name !== 'Quick Launch')
      .flatMap(({ keys }) => keys);
    expect(new Set(placed).size).toBe(placed.length);
    const otherWays: FlagKey[] = ['agent', 'benchmark', 'cli', 'prompt', 'downloaddir', 'showgui', 'skiplauncher'];
    const saved = flagKeys.filter((key) => flagOf(key).saved !== false && !otherWays.includes(key));
    expect([...placed].sort()).toEqual([...saved].sort());
    for (const key of launcherTabs()[0]?.keys ?? []) expect(placed).toContain(key);
  });

  test('show the queue in the network tab', () => {
    expect(form.tabs.find(({ name }) => name === 'Network')?.keys).toContain('multiuser');
    expect(form.fields.multiuser?.label).toBe('Multiuser Queue');
  });
});

test('launcherForm: a field has its type, and whether it has an effect yet', () => {
  expect(form.fields.contextsize).toMatchObject({
    flag: '--contextsize',
    label: 'Context size',
    available: true,
    shape: { type: 'integer', default: 16384, min: 256, max: 524288 },
  });
  expect(form.fields.password?.shape).toMatchObject({ type: 'text', secret: true });
  expect(form.fields.multiplayer?.available).toBe(!flagOf('multiplayer').unsupported);
  expect(form.defaults.port).toBe(5001);
  expect(JSON.parse(JSON.stringify(form))).toEqual(form);
});

describe('multiuser field', () => {
  test.each([
    [0, 10],
    [1, 10],
    [2, 2],
    [10, 10],
    [64, 64],
  ])('%i is shown as %i', (multiuser, shown) => {
    expect(formValues({ ...defaultSettings, multiuser }).multiuser).toBe(shown);
  });

  test('0 in a file becomes 10 when loaded', () => {
    const { values } = readConfigFile('{"multiuser": 0}', { allowOnready: false });
    expect(formValues(settingsFrom(values)).multiuser).toBe(10);
  });
});

describe('readValues', () => {
  test('reads values by the flag table, and omits defaults', () => {
    const layer = layerOf({
      contextsize: '4096',
      port: 5001,
      quiet: true,
      usecuda: [],
      model: ['/a.gguf'],
      password: '',
    });
    expect([...layer]).toEqual([
      ['contextsize', 4096],
      ['quiet', true],
      ['usecuda', []],
      ['model', ['/a.gguf']],
    ]);
  });

  test.each<[unknown, string]>([
    [{ contextsize: 'many' }, 'Context size needs a whole number from 256 to 524288.'],
    [{ contextsize: 5 }, 'Context size needs a whole number'],
    [{ splitmode: 'sideways' }, 'Split mode needs one of'],
    [{ prompt: 'x' }, 'prompt is not a launcher setting.'],
    [{ __proto__x: 1 }, '__proto__x is not a launcher setting'],
    ['x', 'must be an object'],
    [null, 'must be an object'],
    [[], 'must be an object'],
  ])('rejects %o', (sent, sentence) => {
    const written = readValues(sent);
    expect(written.type === 'refused' && written.problems.join(' ')).toContain(sentence);
  });

  test('reports all wrong values together', () => {
    expect(readValues({ port: 'x', threads: 'y' })).toMatchObject({
      problems: [expect.any(String), expect.any(String)],
    });
  });

  test('accepts unchanged shown values', () => {
    const shown = formValues(defaultSettings);
    expect([...layerOf(shown)]).toEqual([]);
    expect([...layerOf({ ...shown, port: 5002 })]).toEqual([['port', 5002]]);
  });
});

const some = {
  model: ['/models/a b.gguf'],
  contextsize: 8192,
  quiet: true,
  gendefaults: { temperature: 1 },
  password: 'secret',
};

test('configText: a saved file loads to the same settings', () => {
  const layer = layerOf(some);
  const { values, problems } = readConfigFile(configText(layer, 'config'), { allowOnready: false });
  expect(problems).toEqual([]);
  expect(settingsFrom(values)).toEqual(settingsFrom(layer));
  expect(JSON.parse(configText(layer, 'template'))).toMatchObject({ istemplate: true, password: null });
});

test('configText: contains changed values only', () => {
  expect(JSON.parse(configText(layerOf({ contextsize: 1024 }), 'config'))).toEqual({
    model_param: null,
    contextsize: 1024,
    istemplate: false,
    file_version: 1,
  });
});

test('commandLine: has the same settings without the secrets', () => {
  const words = commandLine(layerOf({ ...some, tensor_split: [7, 3] }));
  expect(words).toContain('…');
  expect(words.join(' ')).not.toContain('secret');
  const { values, problems } = parseCommandLine(words);
  expect(problems).toEqual([]);
  expect(values.get('model')).toEqual(['/models/a b.gguf']);
  expect(values.get('tensor_split')).toEqual([7, 3]);
  expect(values.get('gendefaults')).toEqual({ temperature: 1 });
});

test('commandLine: hides secrets in the environment of engine programs', () => {
  const env = { HF_TOKEN: 'hf_very_secret', LLAMA_API_KEY: '${key}', LANG: 'de_DE.UTF-8' };
  const engine = { name: 'qwen', command: ['vllm', '--port', '${port}'], env };
  const words = commandLine(layerOf({ engine: [JSON.stringify(engine)] })).join(' ');
  expect(words).not.toContain('hf_very_secret');
  expect(words).toContain('"HF_TOKEN":"…","LLAMA_API_KEY":"${key}","LANG":"de_DE.UTF-8"');
});
