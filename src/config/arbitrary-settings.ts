import fc from 'fast-check';
import type { FlagDefinition, FlagValue } from './flag.ts';
import { exclusiveGroups, type FlagKey, flagKeys, flagOf, type Settings, settingsFrom } from './flags.ts';

/** Any settings that somebody could ask for, for property tests. At most one flag of an exclusive group is set. */
export function arbitrarySettings(keys: readonly FlagKey[] = flagKeys): fc.Arbitrary<Settings> {
  const entries = keys.map((key) => fc.tuple(fc.constant(key), arbitraryValue(flagOf(key))));
  return fc.tuple(...entries).chain((all) =>
    fc.subarray(all).map((some) => {
      const rivals = exclusiveGroups.flatMap((group) => some.filter(([key]) => group.includes(key)).slice(1));
      return settingsFrom(new Map(some.filter((entry) => !rivals.includes(entry))));
    }),
  );
}

/** On the command line the values of a list cannot begin with a dash; an empty text says nothing in a config file. */
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
