import { expect, test } from 'vitest';
import type { GenerationControls } from '../../core/request.ts';
import { defaultSampling } from '../../core/sampling-fields.ts';
import type { JsonObject } from '../../http/body.ts';
import { optional } from '../fields.ts';
import { readCompletion } from '../read-body.ts';
import { dialectParts, readyState, scriptedText, seeing } from '../testing/doubles.ts';
import { decodeOptions as decode, nativeBody } from './decode.ts';
import { optionFields } from './fields.ts';
import { decodePrompts, promptText } from './prompts.ts';
import { readSamplers, withSamplers as withNamed } from './samplers.ts';

const decodeOptions = (body: JsonObject) =>
  decode(readCompletion(optionFields, body, dialectParts(), nativeBody(body)));

test.each<[object, Partial<GenerationControls>]>([
  [{}, { maxTokens: 2048, stop: [], grammar: undefined, endTokens: 'stop', logprobs: undefined, overflow: 'refuse' }],
  [{ n_predict: 7, max_tokens: 8 }, { maxTokens: 7 }],
  [{ n_predict: null, max_tokens: 8 }, { maxTokens: 8 }],
  [{ max_completion_tokens: 9 }, { maxTokens: 9 }],
  [{ max_length: 10 }, { maxTokens: 10 }],
  [{ n_predict: -1, max_length: 10 }, { maxTokens: 2048 }],
  [{ stop: ['a', ''], stop_sequence: ['b'] }, { stop: ['a'] }],
  [{ stop_sequence: ['b'] }, { stop: ['b'] }],
  [{ ignore_eos: true }, { endTokens: 'ban' }],
  [{ n_probs: 3 }, { logprobs: 3 }],
  [{ logprobs: 4 }, { logprobs: 4 }],
  [{ json_schema: { type: 1 } }, { grammar: { gbnf: 'root ::= type', retainState: false } }],
  [
    {
      grammar: 'root ::= "a"',
      grammar_lazy: true,
      grammar_triggers: [
        { type: 1, value: '<a.b>' },
        { type: 2, value: 'x+' },
        { type: 3, value: '^y$' },
      ],
    },
    {
      grammar: {
        gbnf: 'root ::= "a"',
        retainState: false,
        triggers: [
          { type: 'word', text: '<a.b>' },
          { type: 'pattern', source: 'x+' },
          { type: 'pattern', source: '^(?:^y$)$' },
        ],
      },
    },
  ],
])('decodeOptions: %j becomes %j', (body, expected) => {
  expect(decodeOptions(body as never).controls).toMatchObject(expected);
});

test.each<[object, object]>([
  [{ seed: 5 }, { seed: 5 }],
  [{ seed: -1 }, { seed: -1 }],
  [{ seed: 4294967295 }, { seed: -1 }],
  [{ seed: 0 }, { seed: 2 ** 31 }],
  [{ seed: 5, sampler_seed: 6 }, { seed: 6 }],
  [{ repeat_last_n: -1 }, { repetitionRange: 4096 }],
  [
    { repeat_last_n: 0, repeat_penalty: 1.3, presence_penalty: 1 },
    { repetitionPenalty: 1, presencePenalty: 0 },
  ],
  [{ repeat_last_n: 5, rep_pen_range: 9 }, { repetitionRange: 9 }],
  [{ frequency_penalty: 0.5 }, { frequencyPenalty: 0.5 }],
  [{ typ_p: 0.4 }, { typical: 0.4 }],
  [{ typ_p: 0.4, typical_p: 0.5 }, { typical: 0.5 }],
  [{ dry_multiplier: 0.8, dry_penalty_last_n: 0 }, { dryMultiplier: 0 }],
  [
    { dry_multiplier: 0.8, dry_penalty_last_n: -1 },
    { dryMultiplier: 0.8, dryRange: -1 },
  ],
])('decodeOptions: the samplers of %j are %j', (body, expected) => {
  expect(decodeOptions(body as never).controls.sampling).toMatchObject(expected);
});

const all = { ...defaultSampling, dryMultiplier: 0.8, xtcProbability: 0.5, minP: 0.1, nSigma: 1, adaptiveTarget: 0.4 };

test.each<[unknown, object]>([
  [undefined, all],
  [
    ['top_k', 'top_p', 'infill'],
    { order: ['top-k', 'top-p'], topP: 0.9, minP: 0, dryMultiplier: 0, xtcProbability: 0, adaptiveTarget: -1 },
  ],
  ['tm', { order: ['temperature', 'top-p'], temperature: 0.7, nSigma: 0, topP: 1, minP: 0.1 }],
  [['top_n_sigma'], { order: ['temperature'], temperature: 1, nSigma: 1 }],
  [
    ['penalties', 'dry', 'xtc', 'temperature', 'adaptive_p'],
    { order: ['repetition', 'temperature'], dryMultiplier: 0.8, xtcProbability: 0.5, adaptiveTarget: 0.4 },
  ],
  [[], { order: [], dryMultiplier: 0 }],
])('decodeOptions: the list %j leaves only its samplers on', (samplers, expected) => {
  expect(withNamed(all, optional(readSamplers)(samplers, 'samplers'))).toMatchObject(expected);
});

test.each<[unknown, unknown]>([
  ['a', [['a']]],
  [[1, 2], [[1, 2]]],
  [['a', 2], [['a', 2]]],
  [
    ['a', 'b'],
    [['a'], ['b']],
  ],
  [
    [[1], 'b', { prompt_string: 'c' }],
    [[1], ['b'], ['c']],
  ],
  [{ prompt_string: 'c', multimodal_data: [] }, [['c']]],
])('decodePrompts: %j is %j', (value, expected) => {
  expect(decodePrompts(value, readyState()).map(({ pieces }) => pieces)).toEqual(expected);
});

test('decodePrompts: media replace their markers in order, counted by kind', () => {
  const wav = Buffer.from('RIFF....WAVE').toString('base64');
  const prompt = { prompt_string: 'a <__media__> b <__media__><__media__>', multimodal_data: ['AAAA', wav, 'BBBB'] };
  expect(decodePrompts([prompt, 'c'], seeing())).toEqual([
    {
      pieces: ['a (Attached Image 1) b (Attached Audio 1)(Attached Image 2)'],
      media: [
        { kind: 'image', base64: 'AAAA' },
        { kind: 'audio', base64: wav },
        { kind: 'image', base64: 'BBBB' },
      ],
    },
    { pieces: ['c'], media: [] },
  ]);
});

test.each([
  [{ prompt_string: 'a', multimodal_data: ['AAAA'] }, 'once for each of the 1 media, and it has 0.'],
  [{ prompt_string: '<__media__><__media__>', multimodal_data: ['AAAA'] }, 'and it has 2.'],
  [
    { prompt_string: '<__media__>', multimodal_data: ['?'] },
    'multimodal_data[0] must be a picture or a sound in base64.',
  ],
  [{ prompt_string: '<__media__>', multimodal_data: 'AAAA' }, 'multimodal_data must be an array of base64 strings.'],
])('decodePrompts: refuses %j', (prompt, sentence) => expect(() => decodePrompts(prompt, seeing())).toThrow(sentence));

test('decodePrompts: refuses media without a projector', () => {
  const prompt = { prompt_string: '<__media__>', multimodal_data: ['AAAA'] };
  expect(() => decodePrompts(prompt, readyState())).toThrow('--mmproj');
});

test('promptText: tokens become text, without the first token of the model', async () => {
  const { text } = scriptedText([]);
  expect(await promptText([1, 72, 105, ' there', 33], text)).toBe('Hi there!');
});
