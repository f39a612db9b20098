import type OpenAI from 'openai';
import { describe, expect, test } from 'vitest';
import { untrainedServers } from '../live/server.ts';
import { askChat, askMessage, askOllama, askResponse, bothWays } from './ask.ts';
import { type LiveClients, liveClients } from './live-clients.ts';
import { weatherQuestion } from './questions.ts';
import { twoStepFlags } from './tool-ways.ts';

type Schema = { type?: 'object'; [keyword: string]: unknown };

/** As libraries write them that make schemas from classes: the type of a property stands elsewhere. */
const referring: Schema = {
  type: 'object',
  $defs: { Place: { type: 'object', properties: { city: { type: 'string', maxLength: 20 } }, required: ['city'] } },
  properties: { place: { $ref: '#/$defs/Place' } },
  required: ['place'],
};
/** Its only value is longer than the limit of a reply. */
const lengthy: Schema = {
  type: 'object',
  properties: { city: { const: 'a long name and '.repeat(20) } },
  required: ['city'],
};
/** Keywords that no grammar can follow. Names that they would allow have no room, so that the call ends whatever the model says. */
const demanding: Schema = {
  type: 'object',
  properties: {
    city: { type: 'string', pattern: '^(?=.*a).+$', maxLength: 20, not: { const: 'Rome' } },
    days: { type: 'number', multipleOf: 0.5, minimum: 0 },
  },
  required: ['city', 'days'],
  maxProperties: 2,
  patternProperties: { '^x-': {} },
  if: { required: ['city'] },
  additionalProperties: false,
};

interface Call {
  readonly name: string;
  /** Of a call that was cut off, its text where the dialect has one. */
  readonly given: unknown;
}

interface Asked {
  readonly calls: readonly Call[];
  readonly text: string;
  readonly reason: string | null | undefined;
}

type Ask = (live: LiveClients, stream: boolean, schema: Schema, maxTokens?: number) => Promise<Asked>;

const name = 'get_weather';
const description = 'Get the current weather in a city';
const parsed = (json: string): unknown => {
  try {
    return JSON.parse(json);
  } catch {
    return json;
  }
};

const dialects: readonly { dialect: string; ask: Ask; cut: string; halfCall: boolean }[] = [
  {
    dialect: 'chat completions',
    cut: 'length',
    halfCall: true,
    ask: async ({ openai }, stream, parameters, max_tokens = 300) => {
      const tools = [{ type: 'function' as const, function: { name, description, parameters } }];
      const messages = [{ role: 'user' as const, content: weatherQuestion }];
      const reply = await askChat(openai, stream, {
        messages,
        tools,
        tool_choice: 'required',
        parallel_tool_calls: false,
        max_tokens,
      });
      const [choice] = reply.choices;
      const calls = (choice?.message.tool_calls ?? []) as OpenAI.ChatCompletionMessageFunctionToolCall[];
      return {
        calls: calls.map(({ function: called }) => ({ name: called.name, given: parsed(called.arguments) })),
        text: choice?.message.content ?? '',
        reason: choice?.finish_reason,
      };
    },
  },
  {
    dialect: 'Responses',
    cut: 'max_output_tokens',
    halfCall: true,
    ask: async ({ openai }, stream, parameters, max_output_tokens = 300) => {
      const tools = [{ type: 'function' as const, name, description, parameters, strict: false }];
      const reply = await askResponse(openai, stream, {
        input: weatherQuestion,
        tools,
        tool_choice: 'required',
        parallel_tool_calls: false,
        max_output_tokens,
      });
      const calls = reply.output.flatMap((item) => (item.type === 'function_call' ? [item] : []));
      return {
        calls: calls.map((call) => ({ name: call.name, given: parsed(call.arguments) })),
        text: reply.output_text,
        reason: reply.status === 'completed' ? 'completed' : reply.incomplete_details?.reason,
      };
    },
  },
  {
    dialect: 'Messages',
    cut: 'max_tokens',
    halfCall: true,
    ask: async ({ anthropic }, stream, schema, max_tokens = 300) => {
      const tools = [{ name, description, input_schema: { ...schema, type: 'object' as const } }];
      const messages = [{ role: 'user' as const, content: weatherQuestion }];
      const tool_choice = { type: 'any' as const, disable_parallel_tool_use: true };
      const reply = await askMessage(anthropic, stream, { messages, tools, tool_choice, max_tokens });
      return {
        calls: reply.content.flatMap((block) =>
          block.type === 'tool_use' ? [{ name: block.name, given: block.input }] : [],
        ),
        text: reply.content.map((block) => (block.type === 'text' ? block.text : '')).join(''),
        reason: reply.stop_reason,
      };
    },
  },
];

describe.each([
  { kind: 'by two steps', flags: twoStepFlags },
  { kind: 'by the template', flags: [] },
])('schemas of tools $kind', ({ flags }) => {
  const live = liveClients(flags, {}, untrainedServers());

  describe.each(dialects)('$dialect', ({ ask, cut }) => {
    describe.each(bothWays)('$way', ({ stream }) => {
      test('references are resolved', async () => {
        const { calls } = await ask(live, stream, referring);
        expect(calls).toEqual([{ name, given: { place: { city: expect.any(String) } } }]);
      });

      test.each([[{}], [{ type: 'object' as const }]])('schema %j: the arguments are an object', async (schema) => {
        const { calls, reason } = await ask(live, stream, schema);
        expect(calls.map((call) => call.name)).toEqual([name]);
        // A free object may be longer than any limit; then its beginning is there where the dialect can say so.
        if (reason === cut && typeof calls[0]?.given === 'string') expect(calls[0].given).toMatch(/^\{/);
        else expect(calls[0]?.given).toEqual(expect.any(Object));
        expect(Array.isArray(calls[0]?.given)).toBe(false);
      });

      test('a truncated call is still a call, not text', async () => {
        const { calls, text, reason } = await ask(live, stream, lengthy, 24);
        expect(calls.map((call) => call.name)).toEqual([name]);
        expect([text, reason]).toEqual(['', cut]);
      });
    });

    test('unsupported schema keywords do not prevent the call', async () => {
      const { calls } = await ask(live, true, demanding, 300);
      expect(calls.map((call) => call.name)).toEqual([name]);
      expect(calls[0]?.given).toMatchObject({ city: expect.any(String), days: expect.any(Number) });
    });
  });

  test('x-parley-loosened: names the tool, the path and the keyword', async () => {
    const tools = [{ type: 'function' as const, function: { name, description, parameters: demanding } }];
    const messages = [{ role: 'user' as const, content: weatherQuestion }];
    const request = { model: 'any', messages, tools, max_tokens: 5, tool_choice: 'required' as const };
    const { response } = await live.openai.chat.completions.create(request).withResponse();
    const loosened = response.headers.get('x-parley-loosened');
    for (const entry of [
      'get_weather patternProperties',
      'get_weather if',
      'get_weather/properties/city pattern',
      'get_weather/properties/city not',
      'get_weather/properties/days multipleOf',
    ]) {
      expect(loosened?.split(', ')).toContain(entry);
    }
    await live.server.says('get_weather/properties/days multipleOf');
  });

  test.each(bothWays)('Ollama, $way: references are resolved, and a truncated call is left out', async ({ stream }) => {
    const tools = [{ type: 'function', function: { name, description, parameters: referring as object } }];
    const messages = [{ role: 'user', content: weatherQuestion }];
    const ask = (numPredict: number) =>
      askOllama(live.ollama, stream, { messages, tools, options: { num_predict: numPredict } });
    const whole = await ask(300);
    for (const { function: called } of whole.message.tool_calls ?? []) {
      expect(called).toMatchObject({ name, arguments: { place: { city: expect.any(String) } } });
    }
    // The model may answer in words here, since this dialect cannot ask for a call.
    const cut = await ask(6);
    expect(cut.message.tool_calls ?? []).toEqual([]);
    expect(['length', 'stop']).toContain(cut.done_reason);
    expect(cut.message.content).not.toContain('[{');
  });

  // Written out by the template they have no room in the context of the small model.
  test.skipIf(flags.length > 0)('150 tools in one request are accepted', async () => {
    const tools = Array.from({ length: 150 }, (_, index) => ({
      type: 'function' as const,
      function: {
        name: `tool_${index}`,
        parameters: { type: 'object', properties: { n: { type: 'integer', minimum: index } }, required: ['n'] },
      },
    }));
    const messages = [{ role: 'user' as const, content: 'Use tool_77.' }];
    const choice = { type: 'function' as const, function: { name: 'tool_77' } };
    for (const tool_choice of ['required', choice] as const) {
      const reply = await askChat(live.openai, false, { messages, tools, tool_choice });
      const [call] = (reply.choices[0]?.message.tool_calls ?? []) as OpenAI.ChatCompletionMessageFunctionToolCall[];
      const index = Number(/^tool_(\d+)$/.exec(call?.function.name ?? '')?.[1]);
      if (tool_choice === choice) expect(index).toBe(77);
      expect(JSON.parse(call?.function.arguments ?? '').n).toBeGreaterThanOrEqual(index);
    }
  });
});
