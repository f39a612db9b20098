import { expect, test } from 'vitest';
import { type FieldFidelity, sentFields } from './fidelity.ts';

const table: readonly FieldFidelity[] = [
  { field: 'user', handling: 'ignored' },
  { field: 'text.verbosity', handling: 'ignored' },
  { field: 'options.deep.er', handling: 'ignored' },
  { field: 'model', handling: 'honoured' },
  { field: 'lora', handling: 'refused' },
  { field: 'think', handling: 'approximated' },
];

test.each([
  [{}, []],
  [{ user: 'me', model: 'm', lora: 1, think: true }, ['user']],
  [{ user: '' }, ['user']],
  [{ user: false }, ['user']],
  [{ user: null }, []],
  [{ user: undefined }, []],
  [{ text: { verbosity: 'low' } }, ['text.verbosity']],
  [{ text: { verbosity: null } }, []],
  [{ text: { format: {} } }, []],
  [{ text: 'verbosity' }, []],
  [{ text: null }, []],
  [{ options: { deep: { er: 1 } }, user: 1 }, ['user', 'options.deep.er']],
  [{ 'text.verbosity': 1 }, []],
])('sentFields: the ignored ones of %j are %j', (body, expected) => {
  const ignored = sentFields(body, table).filter(({ handling }) => handling === 'ignored');
  expect(ignored.map(({ field }) => field)).toEqual(expected);
});

test('sentFields: ignores properties of Object.prototype', () => {
  const fields = [{ field: 'toString', handling: 'ignored' as const }];
  expect(sentFields({}, fields)).toEqual([]);
});
