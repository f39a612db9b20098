import { describe, expect, test } from 'vitest';
import type { Message } from '../chat/messages.ts';
import { type Sliced, whole } from '../core/slices.ts';
import { ResponseStore } from '../store/responses.ts';
import { readList } from './fields.ts';
import { decodeConversation } from './messages/conversation.ts';
import { decodeMessages as decodeOllama } from './ollama/decode.ts';
import { decodeMessages as decodeOpenai, readMessages } from './openai/chat/messages.ts';
import { readConversation } from './responses/conversation.ts';
import { readInput } from './responses/decode.ts';
import { blind } from './testing/attachments.ts';

/**
 * Every pattern of messages that a decoder looks back for or joins: so many that work which grew with the square of their
 * number would be hundreds of millions of steps for each.
 */
const many = 20_000;
const list = <Value>(make: (index: number) => Value): Value[] =>
  Array.from({ length: many }, (_, index) => make(index));

function* readResponses(input: unknown): Sliced<readonly Message[]> {
  let ids = 0;
  const newId = (prefix: string) => `${prefix}${++ids}`;
  const { items } = yield* readInput({ input }, { newId, storedItem: () => undefined });
  return (yield* readConversation(items, {
    offered: [],
    attachments: blind(),
    sources: [],
  })).messages;
}

const decoders: Record<string, (messages: unknown) => Sliced<readonly Message[]>> = {
  openai: (messages) => decodeOpenai(readMessages(messages, 'messages'), blind()),
  ollama: (messages) => decodeOllama(messages, blind()),
  messages: (messages) =>
    decodeConversation(
      { messages: readList(messages, 'messages') },
      { ignore: () => undefined, sources: [], counts: { documents: 0, results: 0 }, attachments: blind() },
    ),
  responses: readResponses,
};

const alternating = list((index) => ({ role: index % 2 ? 'assistant' : 'user', content: 'a' }));
const oneSided = list(() => ({ role: 'user', content: 'a' }));
const ownRules = list(() => ({ role: 'system', content: 's' }));

describe.each(Object.entries(decoders))('%s', (name, decode) => {
  test('alternating turns', () => expect(whole(decode(alternating))).toHaveLength(many));

  test('turns of one role', () => {
    const [first, ...others] = whole(decode(oneSided));
    expect(first).toMatchObject({ role: 'user' });
    expect(others).toHaveLength(name === 'messages' ? 0 : many - 1);
  });

  test('system messages before and between', () => {
    const between = alternating.flatMap((message, index) => [message, ownRules[index]]).slice(0, many);
    expect(whole(decode([...ownRules, ...between])).length).toBeGreaterThan(0);
  });

  test('decoding yields at every message', () => {
    const work = decode(alternating.slice(0, 1000));
    let pauses = 0;
    while (!work.next().done) pauses++;
    expect(pauses).toBeGreaterThanOrEqual(1000);
  });
});

const names = (messages: readonly Message[]) =>
  messages.flatMap((message) => (message.role === 'tool' ? [message.toolName] : []));

describe('results are matched to calls', () => {
  const calls = list((index) => ({
    id: `c${index}`,
    type: 'function',
    function: { name: `f${index}`, arguments: '{}' },
  }));
  const expected = list((index) => `f${index}`);

  test('by id', () => {
    const results = list((index) => ({ role: 'tool', tool_call_id: `c${index}`, content: 'r' }));
    const messages = [{ role: 'assistant', tool_calls: calls }, ...results];
    expect(names(whole(decodeOpenai(messages, blind())))).toEqual(expected);
  });

  test('with unknown ids', () => {
    const results = list(() => ({ role: 'tool', tool_call_id: 'nobody', content: 'r' }));
    const messages = [{ role: 'assistant', tool_calls: calls }, ...results];
    expect(new Set(names(whole(decodeOpenai(messages, blind()))))).toEqual(new Set([undefined]));
  });

  test('by order', () => {
    const messages = [{ role: 'assistant', tool_calls: calls }, ...list(() => ({ role: 'tool', content: 'r' }))];
    expect(names(whole(decodeOllama(messages, blind())))).toEqual(expected);
  });

  test('by name, the last first', () => {
    const results = list((index) => ({ role: 'tool', tool_name: `f${many - 1 - index}`, content: 'r' }));
    const messages = [{ role: 'assistant', tool_calls: calls }, ...results];
    expect(names(whole(decodeOllama(messages, blind())))).toEqual(expected.toReversed());
  });

  test('in blocks of one message', () => {
    const use = list((index) => ({ type: 'tool_use', id: `c${index}`, name: `f${index}`, input: {} }));
    const results = list((index) => ({ type: 'tool_result', tool_use_id: `c${index}`, content: 'r' }));
    const messages = [
      { role: 'assistant', content: use },
      { role: 'user', content: results },
    ];
    const reading = {
      ignore: () => undefined,
      sources: [],
      counts: { documents: 0, results: 0 },
      attachments: blind(),
    };
    expect(names(whole(decodeConversation({ messages }, reading)))).toEqual(expected);
  });

  test('as items', () => {
    const input = list((index) => index).flatMap((index) => [
      { type: 'function_call', call_id: `c${index}`, name: `f${index}`, arguments: '{}' },
      { type: 'function_call_output', call_id: `c${index}`, output: 'r' },
    ]);
    expect(names(whole(readResponses(input)))).toEqual(expected);
  });
});

test('a system message with very many blocks is one text', () => {
  const blocks = list(() => ({ type: 'text', text: 's' }));
  const body = { messages: [{ role: 'system', content: blocks }, alternating[0]] };
  const [system] = whole(
    decodeConversation(body, {
      ignore: () => undefined,
      sources: [],
      counts: { documents: 0, results: 0 },
      attachments: blind(),
    }),
  );
  expect(system).toMatchObject({ role: 'system', content: [{ text: Array(many).fill('s').join('\n') }] });
});

test('continues a stored conversation with very many items', () => {
  const store = new ResponseStore().of('');
  const input = list((index) => ({ id: `msg_${index}`, type: 'message', role: 'user', content: 'a' }));
  store.put({ id: 'resp_1', response: {}, context: [], input, output: [] });
  const references = list((index) => ({ type: 'item_reference', id: `msg_${index}` }));
  const parts = { newId: (prefix: string) => prefix, storedItem: (id: string) => store.item(id) };
  const { items, missing } = whole(readInput({ input: references }, parts));
  expect([items.length, missing.length]).toEqual([many, 0]);
});
