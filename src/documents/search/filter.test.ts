import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Attributes, Filter } from '../../core/documents.ts';
import { matches } from './filter.ts';

const key = fc.constantFrom('author', 'year', 'draft', '__proto__', 'toString');
const value = fc.oneof(fc.constantFrom('a', 'b', ''), fc.integer({ min: -2, max: 2 }), fc.boolean());
const comparison: fc.Arbitrary<Filter> = fc.oneof(
  fc.record({ type: fc.constantFrom('eq', 'ne', 'gt', 'gte', 'lt', 'lte'), key, value }),
  fc.record({ type: fc.constantFrom('in', 'nin'), key, value: fc.array(value, { maxLength: 3 }) }),
);
const { filter } = fc.letrec<{ filter: Filter }>((tie) => ({
  filter: fc.oneof(
    { depthSize: 'small' },
    comparison,
    fc.record({ type: fc.constantFrom('and', 'or'), filters: fc.array(tie('filter'), { maxLength: 3 }) }),
  ),
}));
const attributes: fc.Arbitrary<Attributes> = fc
  .array(fc.tuple(key, value), { maxLength: 4 })
  .map((entries) => Object.fromEntries(entries));

const opposite = { eq: 'ne', ne: 'eq', in: 'nin', nin: 'in' } as const;

test('filter: eq and ne, in and nin are opposites, also for a file without the attribute', () => {
  fc.assert(
    fc.property(comparison, attributes, (one, own) => {
      if (!(one.type in opposite)) return;
      const other = { ...one, type: opposite[one.type as 'eq'] } as Filter;
      expect(matches(other, own)).toBe(!matches(one, own));
    }),
  );
});

test('filter: and is every, or is some', () => {
  fc.assert(
    fc.property(fc.array(filter, { maxLength: 4 }), attributes, (filters, own) => {
      const each = filters.map((one) => matches(one, own));
      expect(matches({ type: 'and', filters }, own)).toBe(each.every(Boolean));
      expect(matches({ type: 'or', filters }, own)).toBe(each.some(Boolean));
    }),
  );
});

test('filter: in is the or of eq, and gte is gt or eq', () => {
  fc.assert(
    fc.property(key, fc.array(value), value, attributes, (name, values, one, own) => {
      const any: Filter = { type: 'or', filters: values.map((each) => ({ type: 'eq', key: name, value: each })) };
      expect(matches({ type: 'in', key: name, value: values }, own)).toBe(matches(any, own));
      const compared = (type: 'gt' | 'gte' | 'lt' | 'lte' | 'eq') => matches({ type, key: name, value: one }, own);
      expect(compared('gte')).toBe(compared('gt') || compared('eq'));
      expect(compared('lte')).toBe(compared('lt') || compared('eq'));
      expect(compared('gt') && compared('lt')).toBe(false);
    }),
  );
});

test('filter: a file without the attribute matches only what excludes values', () => {
  const types = ['eq', 'ne', 'gt', 'gte', 'lt', 'lte'] as const;
  expect(types.filter((type) => matches({ type, key: 'year', value: 1 }, {}))).toEqual(['ne']);
  expect(matches({ type: 'nin', key: 'year', value: [1] }, {})).toBe(true);
  expect(matches({ type: 'eq', key: 'year', value: '1' }, { year: 1 })).toBe(false);
  expect(matches({ type: 'lt', key: 'year', value: '2' }, { year: 1 })).toBe(false);
});
