import { expect, test } from 'vitest';
import { AppError } from '../../core/errors.ts';
import { decodeGrammar } from './grammar.ts';

const given = { gbnf: 'root ::= "a"', retainState: false };
const convert = (schema: unknown) => `root ::= ${Object.keys(schema as object).join(' ')}`;
const lazily = (triggers: unknown) =>
  decodeGrammar({ grammar_lazy: true, grammar_triggers: triggers }, given, convert)?.lazyPatterns;

test('without anything said there is none', () => {
  expect(decodeGrammar({}, undefined, convert)).toBeUndefined();
  expect(decodeGrammar({ json_schema: null, grammar_lazy: true }, undefined, convert)).toBeUndefined();
});

test('a grammar stays what it is, and a schema becomes one', () => {
  expect(decodeGrammar({}, given, convert)).toBe(given);
  expect(decodeGrammar({ json_schema: { type: 'object' } }, undefined, convert)).toEqual({
    gbnf: 'root ::= type',
    retainState: false,
  });
});

test.each([
  [{ type: 1, value: 'a.b' }, 'xx a.b', 'a.b'],
  [{ type: 0, value: '<tool>' }, 'xx <tool>{', '<tool>{'],
  [{ type: 2, value: 'a+b' }, 'xx aab yy', 'aab yy'],
])('the trigger %j starts in %j at %j', (trigger, text, from) => {
  const [pattern = ''] = lazily([trigger]) ?? [];
  expect(new RegExp(`^${pattern}$`).exec(text)?.[1]).toBe(from);
});

test('letters of a word that mean something in patterns are only letters', () => {
  const [pattern = ''] = lazily([{ type: 1, value: 'a.b(c' }]) ?? [];
  expect(new RegExp(pattern).test('axb(c')).toBe(false);
  expect(new RegExp(pattern).test('a.b(c')).toBe(true);
});

test('a pattern for the whole text is taken as it is', () => {
  expect(lazily([{ type: 3, value: '^x' }])).toEqual(['^x']);
});

test.each([
  [{ json_schema: {} }, given, 'json_schema must be absent where there is a grammar.'],
  [{ json_schema: 'x' }, undefined, 'json_schema must be a JSON schema.'],
  [{ json_schema: [] }, undefined, 'json_schema must be a JSON schema.'],
  [{ grammar_lazy: true }, given, 'grammar_triggers must be given where grammar_lazy is on.'],
  [{ grammar_lazy: true, grammar_triggers: [] }, given, 'grammar_triggers must be given'],
  [{ grammar_lazy: true, grammar_triggers: ['x'] }, given, 'grammar_triggers must be an array of'],
  [{ grammar_lazy: true, grammar_triggers: [{ type: 1 }] }, given, 'grammar_triggers must be an array of'],
])('%j is refused', (body, grammar, sentence) => {
  expect(() => decodeGrammar(body, grammar, convert)).toThrow(sentence);
});

test('a schema that nothing can be made of is refused with the reason, in whatever words that came', () => {
  const failing = (error: Error) => () => {
    throw error;
  };
  expect(() => decodeGrammar({ json_schema: {} }, undefined, failing(new Error('too deep')))).toThrow(
    'json_schema must be a JSON schema that can be turned into a grammar (too deep).',
  );
  const own = new AppError('invalid-field', { field: 'json_schema.a', expected: 'less' });
  expect(() => decodeGrammar({ json_schema: {} }, undefined, failing(own))).toThrow('json_schema.a must be less.');
});
