import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { GenerationEvent } from '../../../core/events.ts';
import type { Reply } from '../../../http/call.ts';
import { bindAll } from '../../testing/bind.ts';
import { callOf, dialectParts, finishEvent, scriptedChat, startEvent } from '../../testing/doubles.ts';
import { chatEndpoints } from './endpoints.ts';

interface Chunk {
  readonly choices: readonly {
    readonly delta: {
      readonly content?: string;
      readonly reasoning_content?: string;
      readonly tool_calls?: readonly {
        readonly index: number;
        readonly id?: string;
        readonly function: { readonly name?: string; readonly arguments: string };
      }[];
    };
    readonly finish_reason: string | null;
  }[];
  readonly usage?: unknown;
}

async function ask(events: readonly GenerationEvent[], body: object): Promise<string> {
  const [endpoint] = bindAll(chatEndpoints, dialectParts({ chat: scriptedChat(events).chat }));
  const messages = [{ role: 'user', content: 'Hi' }];
  const reply = (await endpoint?.handle(callOf('/v1/chat/completions', { messages, ...body }))) as Reply;
  if ('body' in reply) return String(reply.body);
  let all = '';
  for await (const piece of reply.stream) all += piece;
  return all;
}

/** What a client has after the last chunk. */
function joined(stream: string) {
  const reply = { content: '', reasoning: '', calls: [] as { id: string; name: string; json: string }[], reason: '' };
  let usage: unknown;
  for (const frame of stream.split('\n\n')) {
    if (frame === '' || frame === 'data: [DONE]') continue;
    const chunk = JSON.parse(frame.slice('data: '.length)) as Chunk;
    usage = chunk.usage ?? usage;
    const [choice] = chunk.choices;
    reply.content += choice?.delta.content ?? '';
    reply.reasoning += choice?.delta.reasoning_content ?? '';
    reply.reason = choice?.finish_reason ?? reply.reason;
    for (const { index, id, function: called } of choice?.delta.tool_calls ?? []) {
      reply.calls[index] ??= { id: id ?? '', name: called.name ?? '', json: '' };
      (reply.calls[index] as { json: string }).json += called.arguments;
    }
  }
  return { ...reply, usage };
}

function parts(body: string) {
  const { choices, usage } = JSON.parse(body);
  const { content, reasoning_content: reasoning = '', tool_calls: calls = [] } = choices[0].message;
  return {
    content: content ?? '',
    reasoning,
    calls: calls.map((call: { id: string; function: { name: string; arguments: string } }) => ({
      id: call.id,
      name: call.function.name,
      json: call.function.arguments,
    })),
    reason: choices[0].finish_reason,
    usage,
  };
}

const words = fc.string({ unit: 'grapheme', maxLength: 8 });
const piece: fc.Arbitrary<GenerationEvent> = fc.oneof(
  words.map((text): GenerationEvent => ({ type: 'text-delta', text })),
  words.map((text): GenerationEvent => ({ type: 'reasoning-delta', text })),
);
const calls = fc
  .array(fc.tuple(words, fc.array(words, { maxLength: 3 })), { maxLength: 3 })
  .map((list) =>
    list.flatMap(([name, jsons], index): GenerationEvent[] => [
      { type: 'tool-start', index, id: `call_${index}`, name },
      ...jsons.map((json): GenerationEvent => ({ type: 'tool-delta', index, json })),
      { type: 'tool-end', index },
    ]),
  );
const ending = fc
  .constantFrom('stop', 'length', 'tool-calls', 'aborted')
  .map((reason) => finishEvent({ reason: reason as 'stop' }));

test('chat: a stream adds up to the whole reply', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(piece, { maxLength: 8 }), calls, ending, async (pieces, called, finish) => {
      const events = [startEvent(), ...pieces, ...called, finish];
      const stream = await ask(events, { stream: true, stream_options: { include_usage: true } });
      expect(joined(stream)).toEqual(parts(await ask(events, {})));
    }),
    { numRuns: 100 },
  );
});
