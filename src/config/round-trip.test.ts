import fc from 'fast-check';
import { expect, test } from 'vitest';
import { readConfigFile, writeConfigFile } from './config-file.ts';
import type { FlagDefinition, FlagValue } from './flag.ts';
import { exclusiveGroups, type FlagKey, flagKeys, flagOf, type Settings, settingsFrom } from './flags.ts';
import { loadSettings } from './load.ts';
import { parseCommandLine } from './parse.ts';
import { applyRules } from './rules.ts';
import { printCommandLine } from './testing/print.ts';

test('parseCommandLine: reads printed settings back', () => {
  fc.assert(
    fc.property(arbitrarySettings(flagKeys), (settings) => {
      const { values, problems } = parseCommandLine(printCommandLine(settings));
      expect(problems).toEqual([]);
      expect(settingsFrom(values)).toEqual(settings);
    }),
  );
});

const savedKeys = flagKeys.filter((key) => flagOf(key).saved !== false);

test('readConfigFile: reads the settings of writeConfigFile back', () => {
  fc.assert(
    fc.property(arbitrarySettings(savedKeys), (settings) => {
      const { values, problems } = readConfigFile(writeConfigFile(settings, 'config'), { allowOnready: true });
      expect(problems).toEqual([]);
      expect(settingsFrom(values)).toEqual(settings);
    }),
  );
});

test('writeConfigFile: settings after applyRules load unchanged', () => {
  fc.assert(
    fc.property(arbitrarySettings(savedKeys), (wanted) => {
      // Not every text is a folder with a size or an address, and not every word a field of a request.
      const gendefaults = wanted.gendefaults && { top_k: Object.keys(wanted.gendefaults).length };
      const diskcache = wanted.diskcache && '/cache:5G';
      const elsewhere = { remote: wanted.remote && ['http://gpu1:8000'], rpcmode: 'disabled', rpctargets: '' } as const;
      const modelalias = wanted.modelalias && ['claude-*=qwen3'];
      const engine = wanted.engine && ['qwen=llama-server --port ${port}'];
      const trace = wanted.trace && 'http://localhost:4318';
      const { settings, problems } = applyRules({
        ...wanted,
        ...elsewhere,
        diskcache,
        gendefaults,
        modelalias,
        trace,
        engine,
      });
      fc.pre(problems.length === 0);
      const loaded = loadSettings({
        arguments: ['--config', 'x.kcpps', '--allow-config-onready'],
        environment: {},
        readFile: () => writeConfigFile(settings, 'config'),
        exists: () => true,
      });
      const expected = { ...settings, config: 'x.kcpps', allow_config_onready: true };
      expect(loaded).toMatchObject({ type: 'settings', settings: expected });
    }),
  );
});

test('applyRules: is idempotent', () => {
  fc.assert(
    fc.property(arbitrarySettings(flagKeys), (wanted) => {
      const { settings } = applyRules(wanted);
      expect(applyRules(settings)).toMatchObject({ settings, notes: [] });
    }),
  );
});

test('writeConfigFile: a template has no secrets and no machine settings', () => {
  fc.assert(
    fc.property(arbitrarySettings(savedKeys), (settings) => {
      const { values } = readConfigFile(writeConfigFile(settings, 'template'), { allowOnready: true });
      expect(settingsFrom(values)).toMatchObject({ password: null, adminpassword: null, hordekey: '', ssl: null });
      expect(settingsFrom(values)).toMatchObject({ usecuda: null, usevulkan: null, threads: -1, gpulayers: -1 });
    }),
  );
});

/** Any valid settings. At most one flag of an exclusive group is set. */
function arbitrarySettings(keys: readonly FlagKey[]): fc.Arbitrary<Settings> {
  const entries = keys.map((key) => fc.tuple(fc.constant(key), arbitraryValue(flagOf(key))));
  return fc.tuple(...entries).chain((all) =>
    fc.subarray(all).map((some) => {
      const rivals = exclusiveGroups.flatMap((group) => some.filter(([key]) => group.includes(key)).slice(1));
      return settingsFrom(new Map(some.filter((entry) => !rivals.includes(entry))));
    }),
  );
}

/** On the command line the values of a list cannot begin with a dash; an empty text in a config file is ignored. */
const word = fc.string({ minLength: 1, maxLength: 8 }).filter((text) => !text.startsWith('-'));
const number = fc.double({ noNaN: true, noDefaultInfinity: true, min: -1e6, max: 1e6 }).map((value) => value || 0);

function arbitraryValue(definition: FlagDefinition): fc.Arbitrary<FlagValue> {
  switch (definition.type) {
    case 'switch':
      return fc.boolean();
    case 'integer':
      if (definition.only) return fc.constantFrom(...definition.only);
      return fc.integer({ min: definition.min ?? -1000, max: definition.max ?? 1_000_000 });
    case 'number':
      return number;
    case 'text':
      return fc.string({ minLength: 1, maxLength: 12 });
    case 'choice':
      return fc.constantFrom(...definition.choices);
    case 'json':
      return fc.dictionary(word, fc.oneof(number, fc.boolean(), fc.string(), fc.array(fc.string())));
    case 'list': {
      const items = {
        text: word,
        integer: fc.integer(),
        number,
        choice: fc.constantFrom(...(definition.choices ?? [''])),
      };
      const limits = { minLength: definition.least, maxLength: definition.most ?? 4 };
      return fc.array<string | number>(items[definition.of], limits);
    }
  }
}
