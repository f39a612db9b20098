import { describe, expect, test } from 'vitest';
import { readConfigFile } from '../config/config-file.ts';
import { tabNames } from '../config/flag.ts';
import { defaultSettings, type FlagKey, flagKeys, flagOf, settingsFrom } from '../config/flags.ts';
import { parseCommandLine } from '../config/parse.ts';
import { commandLine, configText, launcherForm, launcherTabs, readValues, shownValues } from './form.ts';

const form = launcherForm();
const layerOf = (sent: unknown) => {
  const written = readValues(sent);
  if (written.type === 'refused') throw new Error(written.problems.join(' '));
  return written.layer;
};

describe('the tabs', () => {
  test('are those that people know, and none is empty', () => {
    expect(form.tabs.map(({ name }) => name)).toEqual([...tabNames]);
    for (const { name, keys } of form.tabs) expect(keys.length, name).toBeGreaterThan(2);
  });

  test('hold every setting that a config file can hold exactly once, beside the first', () => {
    const placed = launcherTabs()
      .filter(({ name }) => name !== 'Quick Launch')
      .flatMap(({ keys }) => keys);
    expect(new Set(placed).size).toBe(placed.length);
    const otherWays: FlagKey[] = ['agent', 'benchmark', 'cli', 'prompt', 'downloaddir', 'showgui', 'skiplauncher'];
    const saved = flagKeys.filter((key) => flagOf(key).saved !== false && !otherWays.includes(key));
    expect([...placed].sort()).toEqual([...saved].sort());
    for (const key of launcherTabs()[0]?.keys ?? []) expect(placed).toContain(key);
  });

  test('have the queue in the network tab, under its name', () => {
    expect(form.tabs.find(({ name }) => name === 'Network')?.keys).toContain('multiuser');
    expect(form.fields.multiuser?.label).toBe('Multiuser Queue');
  });
});

test('a field tells what it takes, and whether it has an effect yet', () => {
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

describe('the queue', () => {
  test.each([
    [0, 10],
    [1, 10],
    [2, 2],
    [10, 10],
    [64, 64],
  ])('of %i shows as %i', (multiuser, shown) => {
    expect(shownValues({ ...defaultSettings, multiuser }).multiuser).toBe(shown);
  });

  test('saved as 0 becomes 10 when it is loaded', () => {
    const { values } = readConfigFile('{"multiuser": 0}', { allowOnready: false });
    expect(shownValues(settingsFrom(values)).multiuser).toBe(10);
  });
});

describe('what the page sends', () => {
  test('is read by the flag table, and what says nothing new is left out', () => {
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
  ])('%o is refused', (sent, sentence) => {
    const written = readValues(sent);
    expect(written.type === 'refused' && written.problems.join(' ')).toContain(sentence);
  });

  test('all wrong values are told at once', () => {
    expect(readValues({ port: 'x', threads: 'y' })).toMatchObject({
      problems: [expect.any(String), expect.any(String)],
    });
  });

  test('what was shown can be sent back as it is', () => {
    const shown = shownValues(defaultSettings);
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

test('a saved file means the same when it is loaded', () => {
  const layer = layerOf(some);
  const { values, problems } = readConfigFile(configText(layer, 'config'), { allowOnready: false });
  expect(problems).toEqual([]);
  expect(settingsFrom(values)).toEqual(settingsFrom(layer));
  expect(JSON.parse(configText(layer, 'template'))).toMatchObject({ istemplate: true, password: null });
});

test('configText: holds nothing but what was set', () => {
  expect(JSON.parse(configText(layerOf({ contextsize: 1024 }), 'config'))).toEqual({
    model_param: null,
    contextsize: 1024,
    istemplate: false,
  });
});

test('the command line says the same, without the secrets', () => {
  const words = commandLine(layerOf({ ...some, tensor_split: [7, 3] }));
  expect(words).toContain('…');
  expect(words.join(' ')).not.toContain('secret');
  const { values, problems } = parseCommandLine(words);
  expect(problems).toEqual([]);
  expect(values.get('model')).toEqual(['/models/a b.gguf']);
  expect(values.get('tensor_split')).toEqual([7, 3]);
  expect(values.get('gendefaults')).toEqual({ temperature: 1 });
});
