import { describe, expect, test } from 'vitest';
import { chatFields, linesOf, listOf, nativeFields, type RequestValues, schemaProblem } from './request-fields.ts';
import { defaultPromptValues, defaultSamplerValues } from './values.ts';

const nothing: RequestValues = { ...defaultSamplerValues, ...defaultPromptValues };
const tokenize = async (text: string) => [...text].map((letter) => letter.charCodeAt(0));

describe('chatFields, nativeFields', () => {
  test('send nothing for settings that are not set', async () => {
    expect(chatFields(nothing)).toEqual({});
    expect(await nativeFields(nothing, tokenize)).toEqual({});
  });

  test('send every setting under the name of the API', async () => {
    const values: RequestValues = {
      ...nothing,
      sampling: { temperature: 1.5, sampler_seed: 7, dry_multiplier: 0.8 },
      samplerOrder: [5, 6, 0, 1, 2, 3, 4],
      jsonSchema: '{"type": "object"}',
      bannedPhrases: ['a sigh'],
      logitBias: [
        { token: '#5', bias: -2 },
        { token: 'ab', bias: 3 },
        { token: '7', bias: 1 },
      ],
      endToken: 'ban',
      stopSequences: ['\nYou:'],
    };
    const common = {
      temperature: 1.5,
      sampler_seed: 7,
      dry_multiplier: 0.8,
      sampler_order: [5, 6, 0, 1, 2, 3, 4],
      dry_sequence_breakers: ['\n', ':', '"', '*'],
      banned_tokens: ['a sigh'],
      ban_eos_token: true,
    };
    expect(chatFields(values)).toEqual({
      ...common,
      seed: 7,
      response_format: { type: 'json_schema', json_schema: { name: 'reply', schema: { type: 'object' } } },
      logit_bias: [
        [5, -2],
        ['ab', 3],
        ['7', 1],
      ],
      stop: ['\nYou:'],
    });
    expect(await nativeFields(values, tokenize)).toEqual({
      ...common,
      grammar: { type: 'object' },
      logit_bias: { 5: -2, 97: 3, 98: 3, 55: 1 },
    });
  });

  test('a grammar takes precedence over a schema', () => {
    const fields = chatFields({ ...nothing, grammar: 'root ::= "a"', jsonSchema: '{}', endToken: 'ignore' });
    expect(fields).toEqual({ grammar: 'root ::= "a"', bypass_eos: true });
  });

  test('a schema that is no JSON is an error, not left out', async () => {
    const values = { ...nothing, jsonSchema: '{"type":' };
    expect(() => chatFields(values)).toThrow(/JSON schema/);
    await expect(nativeFields(values, tokenize)).rejects.toThrow(/JSON schema/);
  });
});

test('schemaProblem: objects are fine, other JSON and other text is not', () => {
  expect(schemaProblem('  ')).toBeUndefined();
  expect(schemaProblem('{"type": "string"}')).toBeUndefined();
  for (const wrong of ['[]', '1', 'null', '{', 'root ::= "a"'])
    expect(schemaProblem(wrong), wrong).toBeTypeOf('string');
});

test('listOf: reads what linesOf wrote', () => {
  const list = ['\nYou:', 'a\\nb', '\t', ' x ', '\\'];
  expect(linesOf(list)).toBe('\\nYou:\na\\\\nb\n\\t\n x \n\\\\');
  expect(listOf(linesOf(list))).toEqual(list);
  expect(listOf('\n\na\r\n')).toEqual(['a']);
  expect(listOf('\\d')).toEqual(['\\d']);
});
