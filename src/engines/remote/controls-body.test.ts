import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { AppError } from '../../core/errors.ts';
import type { GenerationControls } from '../../core/request.ts';
import { defaultSampling, type Sampling, type SamplingName, samplingFields } from '../../core/sampling-fields.ts';
import { controlsBody } from './controls-body.ts';
import { kinds, type RemoteKind } from './kinds.ts';
import { controlsWith } from './testing/requests.ts';

const allKinds = Object.keys(kinds) as RemoteKind[];
const foreign = allKinds.filter((kind) => !kinds[kind].native);

function bodyFor(kind: RemoteKind, changes: Partial<GenerationControls> = {}, sampling: Partial<Sampling> = {}) {
  return controlsBody(controlsWith(changes, sampling), { kind, host: 'gpu1:8000', seed: 77 });
}

function refusal(make: () => unknown): AppError {
  try {
    make();
  } catch (error) {
    return error as AppError;
  }
  throw new Error('nothing was refused');
}

describe('the samplers', () => {
  test.each(allKinds)('%s is told the usual ones, and nothing is missed, where a request asks for nothing', (kind) => {
    const { fields, unheeded } = bodyFor(kind);
    expect(fields).toMatchObject({ max_tokens: 2048, temperature: 0.7, top_p: 0.9 });
    expect(fields).not.toHaveProperty('stop');
    expect(unheeded).toEqual([]);
  });

  test('each is sent under the name that the other side has for it', () => {
    const sampling = { repetitionPenalty: 1.1, typical: 0.9, topK: 40 };
    expect(bodyFor('llama-server', {}, sampling).fields).toMatchObject({
      repeat_penalty: 1.1,
      typical_p: 0.9,
      top_k: 40,
    });
    expect(bodyFor('vllm', {}, sampling).fields).toMatchObject({ repetition_penalty: 1.1, top_k: 40 });
    expect(bodyFor('parley', {}, sampling).fields).toMatchObject({ rep_pen: 1.1, typical: 0.9, top_k: 40 });
  });

  test('what the other side does not have is told by the name that the native API has for it', () => {
    const sampling = { typical: 0.9, smoothingFactor: 0.3, minP: 0.05, mirostat: 2, dryMultiplier: 0.8 };
    expect(bodyFor('vllm', {}, sampling).unheeded).toEqual([
      'smoothing_factor',
      'typical',
      'dry_multiplier',
      'mirostat',
    ]);
    expect(bodyFor('openai', {}, sampling).unheeded).toContain('min_p');
    expect(bodyFor('llama-server', {}, sampling).unheeded).toEqual(['smoothing_factor']);
    expect(bodyFor('parley', {}, sampling).unheeded).toEqual([]);
  });

  test('each that asks for something is either sent or told, whatever the kind', () => {
    const names = Object.keys(samplingFields) as SamplingName[];
    fc.assert(
      fc.property(
        fc.constantFrom(...allKinds),
        fc.constantFrom(...names),
        fc.integer({ min: -3, max: 60 }),
        (kind, name, value) => {
          const sampling = { [name]: value / 10 };
          const { fields, unheeded } = bodyFor(kind, {}, sampling);
          const known = kinds[kind].samplers[name];
          if (known === undefined) expect(fields).not.toHaveProperty(samplingFields[name].wire[0]);
          else expect(unheeded).not.toContain(samplingFields[name].wire[0]);
        },
      ),
    );
  });

  test('parts of a sampler that is off are no loss', () => {
    const parts = { xtcThreshold: 0.1, dryBase: 2, mirostatTau: 3, adaptiveDecay: 0.5, smoothingCurve: 2 };
    expect(bodyFor('openai', {}, parts).unheeded).toEqual([]);
    expect(bodyFor('openai', {}, { ...parts, xtcProbability: 0.5 }).unheeded).toEqual([
      'xtc_threshold',
      'xtc_probability',
    ]);
  });

  test('values that turn a sampler off are no loss either', () => {
    const off = { topK: 0, minP: 0, typical: 1, tailFree: 1.5, topA: -1, nSigma: -1, adaptiveTarget: -1, seed: 0 };
    for (const kind of allKinds) expect(bodyFor(kind, {}, off).unheeded).toEqual([]);
    expect(bodyFor('vllm', {}, off).fields.top_k).toBe(-1);
    expect(bodyFor('llama-server', {}, off).fields.top_k).toBe(0);
  });

  test('a seed is sent where the client chose it, and by our family always', () => {
    expect(bodyFor('vllm').fields).not.toHaveProperty('seed');
    expect(bodyFor('vllm', {}, { seed: 5 }).fields.seed).toBe(5);
    expect(bodyFor('parley').fields.seed).toBe(77);
  });
});

describe('the other controls', () => {
  const cases: readonly [string, Partial<GenerationControls>, Partial<Record<RemoteKind, object>>][] = [
    [
      'trim_stop',
      { stop: ['x'], trimStop: false },
      { parley: { trim_stop: false }, vllm: { include_stop_str_in_output: true }, sglang: { no_stop_trim: true } },
    ],
    [
      'ban_eos_token',
      { endTokens: 'ban', maxTokens: 9 },
      { parley: { ban_eos_token: true }, vllm: { min_tokens: 9 }, 'llama-server': { ignore_eos: true } },
    ],
    ['bypass_eos', { endTokens: 'ignore' }, { parley: { bypass_eos: true }, vllm: { ignore_eos: true } }],
    [
      'logit_bias',
      { logitBias: [[5, 2]], bannedTokens: [7] },
      { parley: { logit_bias: { 5: 2, 7: -100 } }, openai: { logit_bias: { 5: 2, 7: -100 } } },
    ],
    ['banned_tokens', { bannedStrings: ['no'] }, { parley: { banned_tokens: ['no'] }, vllm: { bad_words: ['no'] } }],
    [
      'guidance_scale',
      { guidance: { negativePrompt: 'bad', scale: 2 } },
      { parley: { negative_prompt: 'bad', guidance_scale: 2 } },
    ],
    [
      'render_special',
      { renderSpecial: true },
      { parley: { render_special: true }, vllm: { skip_special_tokens: false } },
    ],
    ['max_context_length', { maxContext: 512 }, { parley: { max_context_length: 512 } }],
    [
      'cache_prompt',
      { freshPrompt: true },
      { parley: { cache_prompt: false }, 'llama-server': { cache_prompt: false } },
    ],
  ];

  test.each(cases)('%s is sent in the words of each, or told', (field, changes, sent) => {
    for (const [kind, fields] of Object.entries(sent) as [RemoteKind, object][]) {
      expect(bodyFor(kind, changes).fields).toMatchObject(fields);
      expect(bodyFor(kind, changes).unheeded).toEqual([]);
    }
    expect(bodyFor('tgi', changes).unheeded).toEqual([field]);
  });

  test('an order of the samplers is sent as numbers', () => {
    const order = [...defaultSampling.order].reverse();
    expect(bodyFor('parley', {}, { order }).fields.sampler_order).toEqual([5, 2, 4, 3, 1, 0, 6]);
    expect(bodyFor('vllm', {}, { order }).unheeded).toEqual(['sampler_order']);
  });

  test('the breakers of DRY go with it', () => {
    const sampling = { dryMultiplier: 0.8, dryBreakers: ['\n'] };
    expect(bodyFor('llama-server', {}, sampling).fields.dry_sequence_breakers).toEqual(['\n']);
    expect(bodyFor('llama-server', {}, { dryBreakers: ['\n'] }).fields).not.toHaveProperty('dry_sequence_breakers');
  });

  test('stop texts are always sent', () => {
    for (const kind of allKinds) expect(bodyFor(kind, { stop: ['\n', 'User:'] }).fields.stop).toEqual(['\n', 'User:']);
  });
});

describe('a grammar', () => {
  const grammar = { gbnf: 'root ::= "yes"', retainState: false };

  test('is put where each has it', () => {
    expect(bodyFor('parley', { grammar }).fields.grammar).toBe(grammar.gbnf);
    expect(bodyFor('llama-server', { grammar }).fields.grammar).toBe(grammar.gbnf);
    expect(bodyFor('vllm', { grammar }).fields.structured_outputs).toEqual({ grammar: grammar.gbnf });
    expect(bodyFor('sglang', { grammar }).fields.ebnf).toBe(grammar.gbnf);
    expect(bodyFor('parley', { grammar: { ...grammar, retainState: true } }).fields.grammar_retain_state).toBe(true);
  });

  test('is refused where the reply could not be held to it', () => {
    const error = refusal(() => bodyFor('openai', { grammar }));
    expect(error.code).toBe('unsupported');
    expect(error.message).toContain('gpu1:8000');
    expect(refusal(() => bodyFor('tgi', { grammar })).code).toBe('unsupported');
    const lazy = { ...grammar, triggers: [{ type: 'word', text: '{' }] } as const;
    expect(refusal(() => bodyFor('llama-server', { grammar: lazy })).message).toContain('grammar_triggers');
  });

  test('figures of the prompt are refused everywhere: nothing could be put in their place', () => {
    for (const kind of foreign) expect(refusal(() => bodyFor(kind, { promptLogprobs: 1 })).code).toBe('unsupported');
  });
});
