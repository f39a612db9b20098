import { expect, test } from 'vitest';
import { AppError } from '../../core/errors.ts';
import type { Grammar } from '../../core/request.ts';
import type { JsonObject } from '../../http/body.ts';
import { readFields } from '../fields.ts';
import type { SchemaToGrammar } from '../output-schema.ts';
import { decodeGrammar as decode } from './decode.ts';
import { optionFields } from './fields.ts';

const decodeGrammar = (body: JsonObject, given: Grammar | undefined, convert: SchemaToGrammar) =>
  decode(readFields(optionFields, body), given, convert);

const given = { gbnf: 'root ::= "a"', retainState: false };
const convert = (schema: unknown) => `root ::= ${Object.keys(schema as object).join(' ')}`;
const lazily = (triggers: unknown) =>
  decodeGrammar({ grammar_lazy: true, grammar_triggers: triggers }, given, convert)?.triggers;

test('decodeGrammar: undefined without any field', () => {
  expect(decodeGrammar({}, undefined, convert)).toBeUndefined();
  expect(decodeGrammar({ json_schema: null, grammar_lazy: true }, undefined, convert)).toBeUndefined();
});

test('decodeGrammar: keeps a grammar, and converts a schema', () => {
  expect(decodeGrammar({}, given, convert)).toBe(given);
  expect(decodeGrammar({ json_schema: { type: 'object' } }, undefined, convert)).toEqual({
    gbnf: 'root ::= type',
    retainState: false,
  });
});

test.each([
  [
    { type: 1, value: 'a.b(c' },
    { type: 'word', text: 'a.b(c' },
  ],
  [
    { type: 0, value: '<tool>' },
    { type: 'word', text: '<tool>' },
  ],
  [
    { type: 0, value: '<tool>', token: 7 },
    { type: 'token', token: 7 },
  ],
  [
    { type: 2, value: 'a+b' },
    { type: 'pattern', source: 'a+b' },
  ],
])('decodeGrammar: the trigger %j is %j', (trigger, expected) => {
  expect(lazily([trigger])).toEqual([expected]);
});

test.each([
  [{ json_schema: {} }, given, 'json_schema must be absent where there is a grammar.'],
  [{ json_schema: 'x' }, undefined, 'json_schema must be a JSON schema.'],
  [{ json_schema: [] }, undefined, 'json_schema must be a JSON schema.'],
  [{ grammar_lazy: true }, given, 'grammar_triggers must be given where grammar_lazy is on.'],
  [{ grammar_lazy: true, grammar_triggers: [] }, given, 'grammar_triggers must be given'],
  [{ grammar_lazy: true, grammar_triggers: ['x'] }, given, 'grammar_triggers must be an array of'],
  [{ grammar_lazy: true, grammar_triggers: [{ type: 1 }] }, given, 'grammar_triggers must be an array of'],
])('decodeGrammar: refuses %j', (body, grammar, sentence) => {
  expect(() => decodeGrammar(body, grammar, convert)).toThrow(sentence);
});

test('decodeGrammar: refuses a schema that cannot be converted, with the reason', () => {
  const failing = (error: Error) => () => {
    throw error;
  };
  expect(() => decodeGrammar({ json_schema: {} }, undefined, failing(new Error('too deep')))).toThrow(
    'json_schema must be a JSON schema that can be turned into a grammar (too deep).',
  );
  const own = new AppError('invalid-field', { field: 'json_schema.a', expected: 'less' });
  expect(() => decodeGrammar({ json_schema: {} }, undefined, failing(own))).toThrow('json_schema must be less.');
});
