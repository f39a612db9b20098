import { expect, test } from 'vitest';
import { ResponseStore } from '../../store/responses.ts';
import { dialectParts } from '../testing/doubles.ts';
import { decode } from './decode.ts';
import { createFidelity, responsesFidelity } from './fidelity.ts';

test('every field is there once', () => {
  for (const { fields, endpoint } of responsesFidelity) {
    const names = fields.map(({ field }) => field);
    expect(new Set(names).size, endpoint).toBe(names.length);
  }
});

test('every field that a response shows again is explained', () => {
  const { settings } = decode({ input: 'Hi' }, { ...dialectParts(), store: new ResponseStore() });
  const explained = new Set(createFidelity.fields.map(({ field }) => field.split('.')[0]));
  expect(Object.keys(settings).filter((field) => !explained.has(field))).toEqual([]);
});

test.each(createFidelity.fields.filter(({ handling }) => handling === 'refused'))('$field is refused', ({ field }) => {
  const parts = { ...dialectParts(), store: new ResponseStore() };
  expect(() => decode({ input: 'Hi', [field]: 'anything' }, parts)).toThrow();
});

/** Shown again, so that at least the type is looked at. */
const echoed = new Set(['max_tool_calls', 'prompt_cache_key', 'safety_identifier']);

test.each(createFidelity.fields.filter(({ field, handling }) => handling === 'ignored' && !field.includes('.')))(
  '$field is ignored',
  ({ field }) => {
    const read = (body: object) => {
      const { settings, ...rest } = decode({ input: 'Hi', ...body }, { ...dialectParts(), store: new ResponseStore() });
      return { rest, settings: { ...settings, [field]: null } };
    };
    const value = field === 'max_tool_calls' ? 3 : 'anything';
    const without = read({});
    expect(read({ [field]: value }).rest).toEqual(without.rest);
    if (!echoed.has(field)) expect(read({ [field]: value })).toEqual(without);
  },
);
