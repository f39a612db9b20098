import { describe, expect, test } from 'vitest';
import type { ChatRequest } from '../chat/request.ts';
import { asAppError } from '../core/errors.ts';
import type { GenerationEvent } from '../core/events.ts';
import { schemaToGrammar } from '../grammar/convert.ts';
import type { Endpoint, Reply } from '../http/call.ts';
import { router } from '../http/router.ts';
import { headerList, withIgnored } from './dialect.ts';
import { messagesEndpoints } from './messages/routes.ts';
import { ollamaEndpoints } from './ollama/routes.ts';
import { ollamaContext } from './ollama/testing/context.ts';
import { openaiEndpoints } from './openai/routes.ts';
import { responseState } from './responses/background.ts';
import { responsesEndpoints } from './responses/routes.ts';
import { bindAll } from './testing/bind.ts';
import { callOf, controlLimits, dialectParts, finishEvent, scriptedChat, startEvent } from './testing/doubles.ts';
import { checkToolNames } from './tools.ts';

interface World {
  readonly thinksAnyway?: boolean;
  readonly adapterLength?: number;
}

/** All dialects that have tools, on a chat that plays a script. */
function world(events: readonly GenerationEvent[], { thinksAnyway = false, adapterLength }: World = {}) {
  const { chat, asked } = scriptedChat(events, { thinksAnyway: async () => thinksAnyway });
  const adapter = adapterLength === undefined ? {} : { maxTokens: adapterLength };
  const parts = dialectParts({ chat, controlLimits: () => ({ ...controlLimits, adapter, schemaToGrammar }) });
  const endpoints: Endpoint[] = [
    ...bindAll(openaiEndpoints(parts), { ...parts, replacePlaceholders: (texts) => texts }),
    ...bindAll(responsesEndpoints(responseState(), parts), parts),
    ...bindAll(messagesEndpoints(parts), parts),
    ...bindAll(ollamaEndpoints(ollamaContext().parts, parts), { ...ollamaContext().parts, ...parts }),
  ];
  const ask = async (path: string, body: object): Promise<Reply> => {
    const endpoint = router(endpoints).find('POST', path);
    if (!endpoint) throw new Error(`nobody answers ${path}`);
    try {
      return await endpoint.handle(callOf(path, body));
    } catch (error) {
      return endpoint.dialect.errorReply(asAppError(error));
    }
  };
  return { ask, request: () => asked[0]?.request as ChatRequest };
}

const hello: GenerationEvent[] = [startEvent(), { type: 'text-delta', text: 'Hello' }, finishEvent()];
const messages = [{ role: 'user', content: 'Hi' }];
const amount = { type: 'object', properties: { amount: { type: 'number', multipleOf: 0.01 } }, required: ['amount'] };
const odd = { type: 'object', properties: { größe: { type: 'string', pattern: '(?=x)' } } };

interface Dialect {
  readonly name: string;
  readonly path: string;
  readonly body: object;
  readonly tool: (name: string, schema?: object) => object;
  readonly none: object;
  readonly off: object;
  readonly offField: string;
  readonly schema: (schema: object) => object;
  readonly schemaField: string;
}

const wrapped = (name: string, parameters?: object) => ({
  type: 'function',
  function: { name, ...(parameters ? { parameters } : {}) },
});

const dialects: readonly Dialect[] = [
  {
    name: 'chat completions',
    path: '/v1/chat/completions',
    body: { messages },
    tool: wrapped,
    none: { tool_choice: 'none' },
    off: { chat_template_kwargs: { enable_thinking: false } },
    offField: 'chat_template_kwargs.enable_thinking',
    schema: (schema) => ({ response_format: { type: 'json_schema', json_schema: { name: 'x', schema } } }),
    schemaField: 'response_format.json_schema.schema',
  },
  {
    name: 'Responses',
    path: '/v1/responses',
    body: { input: 'Hi' },
    tool: (name, parameters) => ({ type: 'function', name, ...(parameters ? { parameters } : {}) }),
    none: { tool_choice: 'none' },
    off: { reasoning: { effort: 'none' } },
    offField: 'reasoning.effort',
    schema: (schema) => ({ text: { format: { type: 'json_schema', name: 'x', schema } } }),
    schemaField: 'text.format.schema',
  },
  {
    name: 'Messages',
    path: '/v1/messages',
    body: { messages },
    tool: (name, schema = {}) => ({ name, input_schema: schema }),
    none: { tool_choice: { type: 'none' } },
    off: { thinking: { type: 'disabled' } },
    offField: 'thinking',
    schema: (schema) => ({ output_config: { format: { type: 'json_schema', schema } } }),
    schemaField: 'output_config.format.schema',
  },
  {
    name: 'Ollama',
    path: '/api/chat',
    body: { model: 'm', messages },
    tool: wrapped,
    none: { tools: [] },
    off: { think: false },
    offField: 'think',
    schema: (schema) => ({ format: schema }),
    schemaField: 'format',
  },
];

describe.each(dialects)('$name', ({ path, body, tool, none, off, offField, schema, schemaField }) => {
  test.each([true, false])(
    'x-parley-loosened: names schema keywords that are not enforced (streamed: %j)',
    async (stream) => {
      const tools = [tool('pay', amount), tool('fine', { type: 'object' }), tool('messen', odd)];
      const reply = await world(hello).ask(path, { ...body, tools, stream });
      expect([reply.status, reply.headers?.['x-parley-loosened']]).toEqual([
        200,
        'pay/properties/amount multipleOf, messen/properties/gr??e pattern',
      ]);
    },
  );

  test('x-parley-loosened: absent if no tool may be called, or if all is enforced', async () => {
    for (const more of [
      { tools: [tool('pay', amount)], ...none },
      { tools: [tool('fine', { type: 'object' }), tool('bare')] },
    ]) {
      const reply = await world(hello).ask(path, { ...body, ...more, stream: false });
      expect(reply.status).toBe(200);
      expect(reply.headers).not.toHaveProperty('x-parley-loosened');
    }
  });

  test('refuses two tools of one name', async () => {
    const tools = [tool('look', amount), tool('other'), tool('look')];
    const reply = await world(hello).ask(path, { ...body, tools, stream: false });
    expect(reply.status).toBe(400);
    expect('body' in reply && String(reply.body)).toMatch(
      /tools must be a list of tools with names of their own, but .{1,4}look.{1,4} is there twice/,
    );
  });

  test('refuses an output schema with its field and path before it is queued', async () => {
    const { ask, request } = world(hello);
    const reply = await ask(path, { ...body, ...schema(amount), stream: false });
    expect(reply.status).toBe(400);
    const text = 'body' in reply ? String(reply.body) : '';
    expect(text).toContain(schemaField);
    expect(text).toContain('at #/properties/amount (multipleOf) only multiples of 1 can be promised');
    expect(request()).toBeUndefined();
  });

  test('x-parley-ignored: names the switch of thinking if the chat format has none', async () => {
    const lost = await world(hello, { thinksAnyway: true }).ask(path, { ...body, ...off, stream: false });
    expect([lost.status, lost.headers?.['x-parley-ignored']]).toEqual([200, offField]);
    const heard = await world(hello).ask(path, { ...body, ...off, stream: false });
    expect(heard.headers).not.toHaveProperty('x-parley-ignored');
  });

  test.each<[string, number | undefined, object, number]>([
    ['the server, where nothing else says it', undefined, {}, 2048],
    ['the adapter', 300, {}, 300],
    ['the adapter of the request', 300, { adapter: { max_length: 200 } }, 200],
    ['the request', 300, { max_length: 100 }, 100],
    ['the server, where the adapter says nothing sensible', -1, {}, 2048],
  ])('the length of a reply is that of %s', async (_, adapterLength, more, expected) => {
    const { ask, request } = world(hello, adapterLength === undefined ? {} : { adapterLength });
    const reply = await ask(path, { ...body, ...more, stream: false });
    expect([reply.status, request().controls.maxTokens]).toEqual([200, expected]);
  });
});

test('an adapter sets at most half of the context', async () => {
  const { ask, request } = world(hello, { adapterLength: 100_000 });
  await ask('/v1/chat/completions', { messages });
  expect(request().controls.maxTokens).toBe(2048);
});

test('checkToolNames: also for the old functions field', async () => {
  const functions = [{ name: 'look' }, { name: 'look' }];
  const reply = await world(hello).ask('/v1/chat/completions', { messages, functions });
  expect('body' in reply && String(reply.body)).toContain('functions must be a list of tools');
});

test('checkToolNames: members of namespaces clash only with each other', async () => {
  const member = { type: 'function', name: 'look' };
  const space = (name: string) => ({ type: 'namespace', name, tools: [member] });
  const ask = (tools: object[]) => world(hello).ask('/v1/responses', { input: 'Hi', tools });
  expect((await ask([member, space('a'), space('b')])).status).toBe(200);
  expect((await ask([member, space('a'), space('a')])).status).toBe(400);
});

test('checkToolNames: at most a thousand tools', () => {
  const names = Array.from({ length: 1001 }, (_, index) => `tool_${index}`);
  expect(() => checkToolNames(names.slice(1), 'tools')).not.toThrow();
  expect(() => checkToolNames(names, 'tools')).toThrow('tools must be a list of at most 1000 tools.');
});

test('checkToolNames: limits the length of a name', () => {
  expect(() => checkToolNames(['x'.repeat(256)], 'tools')).not.toThrow();
  expect(() => checkToolNames(['x'.repeat(257)], 'tools')).toThrow('names of at most 256 characters, unlike xxx');
});

test('checkToolNames: compares names exactly', () => {
  expect(() => checkToolNames(['a', 'A', 'a ', '__proto__', 'constructor'], 'tools')).not.toThrow();
  expect(() => checkToolNames(['__proto__', '__proto__'], 'tools')).toThrow('"__proto__" is there twice');
});

describe('headerList', () => {
  test('is ASCII of limited length with the number of entries left out', () => {
    expect(headerList(['a', 'b'])).toBe('a, b');
    expect(headerList(['größe\r\nx: y'])).toBe('gr??e??x: y');
    const long = headerList(Array.from({ length: 500 }, (_, index) => `tool_${index}/properties/a not`));
    expect(long.length).toBeLessThan(1100);
    expect(long).toMatch(/, \d+ more$/);
    expect(headerList(['x'.repeat(5000), 'b'])).toBe(`${'x'.repeat(250)}..., b`);
  });

  test('withIgnored: continues a list', () => {
    expect(withIgnored({ a: 'b' }, [])).toEqual({ a: 'b' });
    expect(withIgnored({}, ['think'])).toEqual({ 'x-parley-ignored': 'think' });
    expect(withIgnored({ 'x-parley-ignored': 'user' }, ['think'])).toEqual({ 'x-parley-ignored': 'user, think' });
  });
});
