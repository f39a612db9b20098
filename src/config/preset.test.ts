import { describe, expect, test } from 'vitest';
import { readConfigFile } from './config-file.ts';
import { defaultSettings, type Settings } from './flags.ts';
import { presetSettings, readPreset } from './preset.ts';

const read = (config: unknown) => readPreset(JSON.stringify(config));

function settingsOf(config: object, base: Partial<Settings> = {}): Settings {
  const reading = read({ base: 'qwen3', ...config });
  if (reading?.type !== 'preset') throw new Error(reading?.problem ?? 'no preset');
  return presetSettings(reading.preset, { ...defaultSettings, ...base });
}

describe('readPreset', () => {
  test('a config without base, or with anything but an object, is no preset', () => {
    for (const text of ['{"systemprompt":"Hi"}', '{"base":null}', '[]', '{"base":', ''])
      expect(readPreset(text)).toBeUndefined();
  });

  test('reads generation settings under any of their names, and messages', () => {
    const messages = [{ role: 'user', content: 'Hi' }];
    const reading = read({ base: 'qwen3', system_prompt: 'Be brief.', contextsize: null, file_version: 1, messages });
    expect(reading).toMatchObject({ type: 'preset', preset: { base: 'qwen3', messages } });
    expect(settingsOf({ system_prompt: 'Be brief.' }).systemprompt).toBe('Be brief.');
  });

  test.each<[object, string | RegExp]>([
    [{ contextsize: 512 }, 'A preset cannot change how its base is loaded: contextsize belongs in a config of qwen3.'],
    [{ model_param: 'x.gguf' }, 'model_param is not a setting of a preset.'],
    [{ model: 'x.gguf' }, /^A preset cannot change how its base is loaded: model /],
    [{ engine: { command: ['x'] } }, /^A preset cannot change how its base is loaded: engine /],
    [{ onready: 'rm' }, /^A preset cannot change how its base is loaded: onready /],
    [{ temperature: 0 }, 'temperature is not a setting of a preset.'],
    [{ gendefaults: { temperature: 'hot' } }, /^gendefaults: temperature must be a number/],
    [{ gendefaults: { max_tokens: 5 } }, /^gendefaults does not .* Use defaultgenamt\.$/],
    [{ jinja: 'maybe' }, /jinja needs/],
    [{ memory: 'yes' }, 'In the config file, memory needs true or false, not "yes".'],
    [{ defaultgenamt: 0 }, /defaultgenamt needs/],
    [{ base: 5 }, 'base must be the name of a model.'],
    [{ base: '' }, 'base must be the name of a model.'],
    [{ messages: 'Hi' }, /^messages must be a list/],
    [{ messages: [{ role: 'tool', content: 'Hi' }] }, /^messages must be a list/],
  ])('refuses %j', (config, problem) => {
    const expected = typeof problem === 'string' ? problem : expect.stringMatching(problem);
    expect(read({ base: 'qwen3', ...config })).toMatchObject({ type: 'faulty', problem: expected });
  });
});

describe('presetSettings', () => {
  test('defaults of requests are over those of the base one by one, under whatever name', () => {
    const base = { gendefaults: { temperature: 0.8, top_k: 20, stop_sequence: ['a'] } };
    expect(settingsOf({ gendefaults: { temperature: 0, stop: ['b'] } }, base).gendefaults).toEqual({
      temperature: 0,
      top_k: 20,
      stop: ['b'],
    });
  });

  test('an effort of the preset replaces every way in which the base sets one', () => {
    const base = { gendefaults: { reasoning_effort: 'high' }, jinja_kwargs: { enable_thinking: true, name: 'x' } };
    const { gendefaults, jinja_kwargs } = settingsOf({ reasoningeffort: 'none' }, base);
    expect(gendefaults).toEqual({ reasoning_effort: 'none' });
    expect(jinja_kwargs).toEqual({ name: 'x' });
  });

  test('variables of the template are added to those of the base, and turn the template on', () => {
    const own = settingsOf({ jinjathink: 'false', jinja_kwargs: { tone: 'dry' } }, { jinja_kwargs: { name: 'x' } });
    expect(own).toMatchObject({ jinja: true, jinja_kwargs: { name: 'x', tone: 'dry', enable_thinking: false } });
  });

  test('a reply length below 64 is kept as it is', () => {
    expect(settingsOf({ defaultgenamt: 8 }).defaultgenamt).toBe(8);
  });

  test('what the preset does not set is that of the base, except its name', () => {
    const base = { contextsize: 512, systemprompt: 'Base.', jinja: true, hordemodelname: 'horde' };
    expect(settingsOf({}, base)).toMatchObject({ ...base, hordemodelname: '' });
    expect(settingsOf({ systemprompt: '' }, base).systemprompt).toBe('');
  });
});

test('readConfigFile: a preset cannot be loaded as a config', () => {
  const { problems } = readConfigFile('{"base":"qwen3"}', { allowOnready: false, path: 'cold.kcpps' });
  expect(problems.map(({ sentence }) => sentence)).toEqual([
    expect.stringMatching(/^Cannot read config `cold.kcpps`: it is a preset of "qwen3".*--routermode/),
  ]);
});
