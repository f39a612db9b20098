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

describe('a conversation', () => {
  test('goes out as messages, streamed and counted', () => {
    expect(body({}).fields).toMatchObject({
      messages: [{ role: 'user', content: 'Hi' }],
      stream: true,
      stream_options: { include_usage: true },
      max_tokens: 16,
    });
  });

  test('keeps its calls, their results, its thinking and roles of its own', () => {
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

  test('shows its pictures and sounds where they stand', () => {
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

  test('has its memory in a field of its own, or in front of what the system says', () => {
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

describe('tools', () => {
  const withTools = (changes: Partial<ChatRequest>) =>
    body({ conversation: { ...chatRequest().conversation, tools: [weather] }, ...changes }).fields;

  test('are offered with their schemas', () => {
    expect(withTools({})).toMatchObject({ tools: [{ type: 'function', function: weather }], tool_choice: 'auto' });
    expect(withTools({})).not.toHaveProperty('parallel_tool_calls');
    expect(body({}).fields).not.toHaveProperty('tools');
  });

  test('are chosen as the client wants', () => {
    expect(withTools({ toolChoice: { type: 'required' } }).tool_choice).toBe('required');
    expect(withTools({ toolChoice: { type: 'none' } }).tool_choice).toBe('none');
    expect(withTools({ toolChoice: { type: 'named', name: 'get_weather' } }).tool_choice).toEqual({
      type: 'function',
      function: { name: 'get_weather' },
    });
    expect(withTools({ parallelToolCalls: false }).parallel_tool_calls).toBe(false);
  });
});

test('an answer is held to its form', () => {
  expect(body({ output: { type: 'json' } }).fields.response_format).toEqual({ type: 'json_object' });
  expect(body({ output: { type: 'schema', schema: { type: 'object' } } }).fields.response_format).toEqual({
    type: 'json_schema',
    json_schema: { name: 'reply', schema: { type: 'object' }, strict: true },
  });
  expect(body({}).fields).not.toHaveProperty('response_format');
});

test('figures are asked for as chats have them', () => {
  expect(body({ controls: controlsWith({ logprobs: 3 }) }).fields).toMatchObject({ logprobs: true, top_logprobs: 3 });
});

describe('thinking', () => {
  const thinking = (effort: string | undefined, more: Partial<ChatRequest> = {}, kind: RemoteKind = 'vllm') =>
    body({ reasoning: { effort, separate: true }, ...more }, kind);

  test('is asked for by its level where that is known, and told where it is not', () => {
    expect(thinking('high').fields.reasoning_effort).toBe('high');
    expect(thinking('high', {}, 'tgi')).toMatchObject({ unheeded: ['reasoning_effort'] });
    expect(thinking('high', {}, 'llama-server').unheeded).toEqual(['reasoning_effort']);
  });

  test('is turned off by the template where that is the way', () => {
    expect(thinking('none').fields.chat_template_kwargs).toEqual({ enable_thinking: false });
    expect(thinking('none').fields).not.toHaveProperty('reasoning_effort');
    expect(thinking('none', {}, 'openai').fields.reasoning_effort).toBe('none');
    expect(thinking('none', {}, 'parley').fields.reasoning_effort).toBe('none');
    const told = { templateVariables: { enable_thinking: true } };
    expect(thinking('none', told).fields.chat_template_kwargs).toEqual({ enable_thinking: true });
  });

  test('has a budget where that is known', () => {
    const budget = { controls: controlsWith({ reasoning: { type: 'tokens', tokens: 50 } }) };
    expect(body(budget, 'parley').fields.thinking_budget_tokens).toBe(50);
    expect(body(budget).unheeded).toEqual(['thinking_budget_tokens']);
  });

  test('variables of the template are told where there is no template to be reached', () => {
    const told = { templateVariables: { style: 'short' } };
    expect(body(told).fields.chat_template_kwargs).toEqual({ style: 'short' });
    expect(body(told, 'openai').unheeded).toEqual(['chat_template_kwargs']);
  });
});

describe('a last turn of the assistant', () => {
  const begun = conversation({ role: 'user', content: text('Hi') }, { role: 'assistant', content: text('Well') });

  test('is gone on with in the words of each, or told', () => {
    expect(body({ conversation: begun }).fields).toMatchObject({
      continue_final_message: true,
      add_generation_prompt: false,
    });
    expect(body({ conversation: begun }, 'parley').fields.continue_assistant_turn).toBe(true);
    expect(body({ conversation: begun }, 'openai').unheeded).toEqual(['continue_assistant_turn']);
    expect(body({}, 'openai').unheeded).toEqual([]);
  });

  test('is answered where that is wanted', () => {
    const asked = { conversation: begun, continueAssistantTurn: false };
    expect(body(asked, 'parley').fields.continue_assistant_turn).toBe(false);
    expect(body(asked).fields).not.toHaveProperty('continue_final_message');
  });
});

test('what only decides about the prompt stands by itself, for counting', () => {
  expect(Object.keys(promptBody(chatRequest(), { kind: 'vllm' }))).toEqual(['messages']);
});

describe('a plain text', () => {
  const plain = (changes: Parameters<typeof textRequest>[0], kind: RemoteKind = 'vllm') =>
    completionBody(textRequest(changes), facts(kind));

  test('goes out as a prompt, with its memory in front', () => {
    expect(plain({ memory: 'First. ' }).fields).toMatchObject({ prompt: 'First. Once', stream: true, max_tokens: 16 });
    expect(plain({ memory: 'First. ' }, 'parley').fields).toMatchObject({ prompt: 'Once', memory: 'First. ' });
    expect(plain({ promptTokens: [1, 2] }).fields.prompt).toEqual([1, 2]);
  });

  test('loses its beginning where it may and the other side can do that', () => {
    expect(plain({ overflow: 'trim' }).fields.truncate_prompt_tokens).toBe(4080);
    expect(plain({ overflow: 'trim', maxContext: 100 }).fields.truncate_prompt_tokens).toBe(84);
    expect(plain({ overflow: 'refuse' }).fields).not.toHaveProperty('truncate_prompt_tokens');
    expect(plain({ overflow: 'trim' }, 'openai').fields).not.toHaveProperty('truncate_prompt_tokens');
  });

  test('takes pictures along only where the native API is known', () => {
    const media = [{ kind: 'image', base64: 'AAAA' } as const, { kind: 'audio', base64: 'BBBB' } as const];
    expect(plain({ media }, 'parley').fields).toMatchObject({ images: ['AAAA'], audio: ['BBBB'] });
    expect(() => plain({ media })).toThrow('in chats alone');
  });

  test('has a budget for thinking, as a number', () => {
    expect(plain({ reasoning: { type: 'share', share: 0.5 } }, 'parley').fields.thinking_budget_tokens).toBe(8);
    expect(plain({ reasoning: { type: 'tokens', tokens: 3 } }, 'parley').fields.thinking_budget_tokens).toBe(3);
    expect(plain({ reasoning: { type: 'tokens', tokens: 3 } }).unheeded).toEqual(['thinking_budget_tokens']);
  });

  test('asks for figures as plain texts have them', () => {
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
