import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type Message, text } from '../../chat/messages.ts';
import type { ChatRequest } from '../../chat/request.ts';
import type { AppError } from '../../core/errors.ts';
import type { GenerationControls } from '../../core/request.ts';
import { defaultSampling, type Sampling, type SamplingName, samplingFields } from '../../core/sampling-fields.ts';
import { kinds, type RemoteKind } from './kinds.ts';
import { chatBody, completionBody, controlsBody, promptBody } from './request-body.ts';
import { chatRequest, controlsWith, textRequest } from './testing/requests.ts';

const facts = (kind: RemoteKind) => ({ kind, host: 'gpu1:8000', seed: 7, contextSize: 4096 });
const body = (request: Partial<ChatRequest>, kind: RemoteKind = 'vllm') => chatBody(chatRequest(request), facts(kind));
const conversation = (...messages: readonly Message[]) => ({ messages, media: [], tools: [] });

const weather = { name: 'get_weather', description: 'Weather', parameters: { type: 'object' } };

describe('chatBody: conversation', () => {
  test('is sent as messages, streamed, with usage', () => {
    expect(body({}).fields).toMatchObject({
      messages: [{ role: 'user', content: 'Hi' }],
      stream: true,
      stream_options: { include_usage: true },
      max_tokens: 16,
    });
  });

  test('keeps tool calls, results, reasoning and other roles', () => {
    const messages: readonly Message[] = [
      { role: 'system', content: text('Be kind.') },
      {
        role: 'assistant',
        content: [],
        reasoning: 'hm',
        toolCalls: [{ id: 'c1', name: 'get_weather', json: '{"city":"Paris"}' }],
      },
      { role: 'tool', content: text('sunny'), callId: 'c1', toolName: 'get_weather' },
      { role: 'other', roleName: 'developer', content: text('Well') },
    ];
    expect(body({ conversation: conversation(...messages) }).fields.messages).toEqual([
      { role: 'system', content: 'Be kind.' },
      {
        role: 'assistant',
        content: null,
        reasoning_content: 'hm',
        tool_calls: [{ id: 'c1', type: 'function', function: { name: 'get_weather', arguments: '{"city":"Paris"}' } }],
      },
      { role: 'tool', content: 'sunny', tool_call_id: 'c1', name: 'get_weather' },
      { role: 'developer', content: 'Well' },
    ]);
  });

  test('keeps pictures and audio in place', () => {
    const media = [
      { kind: 'image', base64: 'iVBORwAA' },
      { kind: 'image', base64: '/9j/AA' },
      { kind: 'image', base64: 'xxxx', format: 'image/webp' },
      { kind: 'audio', base64: 'UklG', format: 'audio/mpeg' },
      { kind: 'audio', base64: 'UklG' },
    ] as const;
    const content = [
      { type: 'text', text: 'Look: ' } as const,
      ...media.map((_, index) => ({ type: 'medium', index }) as const),
    ];
    const sent = body({ conversation: { messages: [{ role: 'user', content }], media, tools: [] } });
    expect(sent.fields.messages).toEqual([
      {
        role: 'user',
        content: [
          { type: 'text', text: 'Look: ' },
          { type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORwAA' } },
          { type: 'image_url', image_url: { url: 'data:image/jpeg;base64,/9j/AA' } },
          { type: 'image_url', image_url: { url: 'data:image/webp;base64,xxxx' } },
          { type: 'input_audio', input_audio: { data: 'UklG', format: 'mp3' } },
          { type: 'input_audio', input_audio: { data: 'UklG', format: 'wav' } },
        ],
      },
    ]);
  });

  test('has memory as a field or as a system message', () => {
    const memory = 'The sky is green.';
    expect(body({ memory }, 'parley').fields).toMatchObject({ memory, messages: [{ role: 'user' }] });
    expect(body({ memory }).fields.messages).toEqual([
      { role: 'system', content: memory },
      { role: 'user', content: 'Hi' },
    ]);
    const led = conversation({ role: 'system', content: text('Be kind.') });
    expect(body({ memory, conversation: led }).fields.messages).toEqual([
      { role: 'system', content: `${memory}\nBe kind.` },
    ]);
  });
});

describe('chatBody: tools', () => {
  const withTools = (changes: Partial<ChatRequest>) =>
    body({ conversation: { ...chatRequest().conversation, tools: [weather] }, ...changes }).fields;

  test('have their schemas', () => {
    expect(withTools({})).toMatchObject({ tools: [{ type: 'function', function: weather }], tool_choice: 'auto' });
    expect(withTools({})).not.toHaveProperty('parallel_tool_calls');
    expect(body({}).fields).not.toHaveProperty('tools');
  });

  test('tool choice', () => {
    expect(withTools({ toolChoice: { type: 'required' } }).tool_choice).toBe('required');
    expect(withTools({ toolChoice: { type: 'none' } }).tool_choice).toBe('none');
    expect(withTools({ toolChoice: { type: 'named', name: 'get_weather' } }).tool_choice).toEqual({
      type: 'function',
      function: { name: 'get_weather' },
    });
    expect(withTools({ parallelToolCalls: false }).parallel_tool_calls).toBe(false);
  });
});

test('chatBody: response format', () => {
  expect(body({ output: { type: 'json' } }).fields.response_format).toEqual({ type: 'json_object' });
  expect(body({ output: { type: 'schema', schema: { type: 'object' } } }).fields.response_format).toEqual({
    type: 'json_schema',
    json_schema: { name: 'reply', schema: { type: 'object' }, strict: true },
  });
  expect(body({}).fields).not.toHaveProperty('response_format');
});

test('chatBody: logprobs', () => {
  expect(body({ controls: controlsWith({ logprobs: 3 }) }).fields).toMatchObject({ logprobs: true, top_logprobs: 3 });
});

describe('chatBody: reasoning', () => {
  const thinking = (effort: string | undefined, more: Partial<ChatRequest> = {}, kind: RemoteKind = 'vllm') =>
    body({ reasoning: { effort, separate: true }, ...more }, kind);

  test('sends the effort if supported, otherwise reports it', () => {
    expect(thinking('high').fields.reasoning_effort).toBe('high');
    expect(thinking('high', {}, 'tgi')).toMatchObject({ ignored: ['reasoning_effort'] });
    expect(thinking('high', {}, 'llama-server').ignored).toEqual(['reasoning_effort']);
  });

  test('is switched off by a template variable', () => {
    expect(thinking('none').fields.chat_template_kwargs).toEqual({ enable_thinking: false });
    expect(thinking('none').fields).not.toHaveProperty('reasoning_effort');
    expect(thinking('none', {}, 'openai').fields.reasoning_effort).toBe('none');
    expect(thinking('none', {}, 'parley').fields.reasoning_effort).toBe('none');
    const told = { templateVariables: { enable_thinking: true } };
    expect(thinking('none', told).fields.chat_template_kwargs).toEqual({ enable_thinking: true });
  });

  test('has a token budget if supported', () => {
    const budget = { controls: controlsWith({ reasoning: { type: 'tokens', tokens: 50 } }) };
    expect(body(budget, 'parley').fields.thinking_budget_tokens).toBe(50);
    expect(body(budget).ignored).toEqual(['thinking_budget_tokens']);
  });

  test('reports template variables if unsupported', () => {
    const told = { templateVariables: { style: 'short' } };
    expect(body(told).fields.chat_template_kwargs).toEqual({ style: 'short' });
    expect(body(told, 'openai').ignored).toEqual(['chat_template_kwargs']);
  });
});

describe('chatBody: last assistant message', () => {
  const begun = conversation({ role: 'user', content: text('Hi') }, { role: 'assistant', content: text('Well') });

  test('is continued by the fields of each kind, or reported', () => {
    expect(body({ conversation: begun }).fields).toMatchObject({
      continue_final_message: true,
      add_generation_prompt: false,
    });
    expect(body({ conversation: begun }, 'parley').fields.continue_assistant_turn).toBe(true);
    expect(body({ conversation: begun }, 'openai').ignored).toEqual(['continue_assistant_turn']);
    expect(body({}, 'openai').ignored).toEqual([]);
  });

  test('is not continued on request', () => {
    const requested = { conversation: begun, continueAssistantTurn: false };
    expect(body(requested, 'parley').fields.continue_assistant_turn).toBe(false);
    expect(body(requested).fields).not.toHaveProperty('continue_final_message');
  });
});

test('promptBody: has the fields of the prompt only', () => {
  expect(Object.keys(promptBody(chatRequest(), { kind: 'vllm' }))).toEqual(['messages']);
});

describe('completionBody', () => {
  const plain = (changes: Parameters<typeof textRequest>[0], kind: RemoteKind = 'vllm') =>
    completionBody(textRequest(changes), facts(kind));

  test('has memory before the prompt', () => {
    expect(plain({ memory: 'First. ' }).fields).toMatchObject({ prompt: 'First. Once', stream: true, max_tokens: 16 });
    expect(plain({ memory: 'First. ' }, 'parley').fields).toMatchObject({ prompt: 'Once', memory: 'First. ' });
    expect(plain({ promptTokens: [1, 2] }).fields.prompt).toEqual([1, 2]);
  });

  test('truncates the prompt if allowed and supported', () => {
    expect(plain({ overflow: 'trim' }).fields.truncate_prompt_tokens).toBe(4080);
    expect(plain({ overflow: 'trim', maxContext: 100 }).fields.truncate_prompt_tokens).toBe(84);
    expect(plain({ overflow: 'refuse' }).fields).not.toHaveProperty('truncate_prompt_tokens');
    expect(plain({ overflow: 'trim' }, 'openai').fields).not.toHaveProperty('truncate_prompt_tokens');
  });

  test('sends media in the native API only', () => {
    const media = [{ kind: 'image', base64: 'AAAA' } as const, { kind: 'audio', base64: 'BBBB' } as const];
    expect(plain({ media }, 'parley').fields).toMatchObject({ images: ['AAAA'], audio: ['BBBB'] });
    expect(() => plain({ media })).toThrow('in chats alone');
  });

  test('has a token budget for reasoning', () => {
    expect(plain({ reasoning: { type: 'share', share: 0.5 } }, 'parley').fields.thinking_budget_tokens).toBe(8);
    expect(plain({ reasoning: { type: 'tokens', tokens: 3 } }, 'parley').fields.thinking_budget_tokens).toBe(3);
    expect(plain({ reasoning: { type: 'tokens', tokens: 3 } }).ignored).toEqual(['thinking_budget_tokens']);
  });

  test('has logprobs as a number', () => {
    expect(plain({ logprobs: 4 }).fields.logprobs).toBe(4);
    expect(plain({}).fields).not.toHaveProperty('logprobs');
  });
});

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

describe('controlsBody: samplers', () => {
  test.each(allKinds)(
    '%s gets the default fields, and none is unsupported, without controls in the request',
    (kind) => {
      const { fields, ignored } = bodyFor(kind);
      expect(fields).toMatchObject({ max_tokens: 2048, temperature: 0.7, top_p: 0.9 });
      expect(fields).not.toHaveProperty('stop');
      expect(ignored).toEqual([]);
    },
  );

  test('have the field names of the backend', () => {
    const sampling = { repetitionPenalty: 1.1, typical: 0.9, topK: 40 };
    expect(bodyFor('llama-server', {}, sampling).fields).toMatchObject({
      repeat_penalty: 1.1,
      typical_p: 0.9,
      top_k: 40,
    });
    expect(bodyFor('vllm', {}, sampling).fields).toMatchObject({ repetition_penalty: 1.1, top_k: 40 });
    expect(bodyFor('parley', {}, sampling).fields).toMatchObject({ rep_pen: 1.1, typical: 0.9, top_k: 40 });
  });

  test('unsupported ones are reported by their native names', () => {
    const sampling = { typical: 0.9, smoothingFactor: 0.3, minP: 0.05, mirostat: 2, dryMultiplier: 0.8 };
    expect(bodyFor('vllm', {}, sampling).ignored).toEqual([
      'smoothing_factor',
      'typical',
      'dry_multiplier',
      'mirostat',
    ]);
    expect(bodyFor('openai', {}, sampling).ignored).toContain('min_p');
    expect(bodyFor('llama-server', {}, sampling).ignored).toEqual(['smoothing_factor']);
    expect(bodyFor('parley', {}, sampling).ignored).toEqual([]);
  });

  test('each requested one is sent or reported, for any kind', () => {
    const names = Object.keys(samplingFields) as SamplingName[];
    fc.assert(
      fc.property(
        fc.constantFrom(...allKinds),
        fc.constantFrom(...names),
        fc.integer({ min: -3, max: 60 }),
        (kind, name, value) => {
          const sampling = { [name]: value / 10 };
          const { fields, ignored } = bodyFor(kind, {}, sampling);
          const known = kinds[kind].samplers[name];
          if (known === undefined) expect(fields).not.toHaveProperty(samplingFields[name].wire[0]);
          else expect(ignored).not.toContain(samplingFields[name].wire[0]);
        },
      ),
    );
  });

  test('parameters of a disabled sampler are not reported', () => {
    const parts = { xtcThreshold: 0.1, dryBase: 2, mirostatTau: 3, adaptiveDecay: 0.5, smoothingCurve: 2 };
    expect(bodyFor('openai', {}, parts).ignored).toEqual([]);
    expect(bodyFor('openai', {}, { ...parts, xtcProbability: 0.5 }).ignored).toEqual([
      'xtc_threshold',
      'xtc_probability',
    ]);
  });

  test('disabled samplers are not reported', () => {
    const off = { topK: 0, minP: 0, typical: 1, tailFree: 1.5, topA: -1, nSigma: -1, adaptiveTarget: -1, seed: 0 };
    for (const kind of allKinds) expect(bodyFor(kind, {}, off).ignored).toEqual([]);
    expect(bodyFor('vllm', {}, off).fields.top_k).toBe(-1);
    expect(bodyFor('llama-server', {}, off).fields.top_k).toBe(0);
  });

  test('the seed is sent if chosen, and always in the native API', () => {
    expect(bodyFor('vllm').fields).not.toHaveProperty('seed');
    expect(bodyFor('vllm', {}, { seed: 5 }).fields.seed).toBe(5);
    expect(bodyFor('parley').fields.seed).toBe(77);
  });
});

describe('controlsBody: other controls', () => {
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

  test.each(cases)('%s is sent under the name of each kind, or reported as unsupported', (field, changes, sent) => {
    for (const [kind, fields] of Object.entries(sent) as [RemoteKind, object][]) {
      expect(bodyFor(kind, changes).fields).toMatchObject(fields);
      expect(bodyFor(kind, changes).ignored).toEqual([]);
    }
    expect(bodyFor('tgi', changes).ignored).toEqual([field]);
  });

  test('sampler order is sent as numbers', () => {
    const order = [...defaultSampling.order].reverse();
    expect(bodyFor('parley', {}, { order }).fields.sampler_order).toEqual([5, 2, 4, 3, 1, 0, 6]);
    expect(bodyFor('vllm', {}, { order }).ignored).toEqual(['sampler_order']);
  });

  test('DRY sequence breakers are sent with DRY', () => {
    const sampling = { dryMultiplier: 0.8, dryBreakers: ['\n'] };
    expect(bodyFor('llama-server', {}, sampling).fields.dry_sequence_breakers).toEqual(['\n']);
    expect(bodyFor('llama-server', {}, { dryBreakers: ['\n'] }).fields).not.toHaveProperty('dry_sequence_breakers');
  });

  test('stop texts are always sent', () => {
    for (const kind of allKinds) expect(bodyFor(kind, { stop: ['\n', 'User:'] }).fields.stop).toEqual(['\n', 'User:']);
  });
});

describe('controlsBody: grammar', () => {
  const grammar = { gbnf: 'root ::= "yes"', retainState: false };

  test('has the field of each kind', () => {
    expect(bodyFor('parley', { grammar }).fields.grammar).toBe(grammar.gbnf);
    expect(bodyFor('llama-server', { grammar }).fields.grammar).toBe(grammar.gbnf);
    expect(bodyFor('vllm', { grammar }).fields.structured_outputs).toEqual({ grammar: grammar.gbnf });
    expect(bodyFor('sglang', { grammar }).fields.ebnf).toBe(grammar.gbnf);
    expect(bodyFor('parley', { grammar: { ...grammar, retainState: true } }).fields.grammar_retain_state).toBe(true);
  });

  test('is rejected if unsupported', () => {
    const error = refusal(() => bodyFor('openai', { grammar }));
    expect(error.code).toBe('unsupported');
    expect(error.message).toContain('gpu1:8000');
    expect(refusal(() => bodyFor('tgi', { grammar })).code).toBe('unsupported');
    const lazy = { ...grammar, triggers: [{ type: 'word', text: '{' }] } as const;
    expect(refusal(() => bodyFor('llama-server', { grammar: lazy })).message).toContain('grammar_triggers');
  });

  test('controlsBody: rejects prompt logprobs for every kind', () => {
    for (const kind of foreign) expect(refusal(() => bodyFor(kind, { promptLogprobs: 1 })).code).toBe('unsupported');
  });
});
