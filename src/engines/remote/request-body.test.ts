import { describe, expect, test } from 'vitest';
import { type Message, text } from '../../chat/messages.ts';
import type { ChatRequest } from '../../chat/request.ts';
import type { RemoteKind } from './kinds.ts';
import { chatBody, completionBody, promptBody } from './request-body.ts';
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
