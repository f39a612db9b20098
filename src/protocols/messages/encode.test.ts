import fc from 'fast-check';
import { expect, test } from 'vitest';
import { AppError } from '../../core/errors.ts';
import type { GenerationEvent } from '../../core/events.ts';
import { finishEvent, play, startEvent } from '../testing/doubles.ts';
import { encodeStream, foldReply, ping, type ReplyFacts } from './encode.ts';

const facts: ReplyFacts = { id: 'msg_1', model: 'mini', stop: ['END'], maxTokens: 100 };

async function bytes(events: AsyncIterable<GenerationEvent>, own: Partial<ReplyFacts> = {}): Promise<string> {
  let all = '';
  for await (const piece of encodeStream(events, { ...facts, ...own })) all += piece;
  return all;
}

interface FrameData {
  readonly type: string;
  readonly index: number;
  readonly message: object;
  readonly content_block: object;
  readonly delta: Readonly<Record<string, string>>;
  readonly usage: object;
  readonly error: object;
}

/** Which of the fields are there depends on the event. */
interface Frame {
  readonly event: string;
  readonly data: FrameData;
}

function frames(stream: string): Frame[] {
  return stream
    .split('\n\n')
    .filter((record) => record.startsWith('event: '))
    .map((record) => {
      const [event = '', data = ''] = record.split('\n');
      return { event: event.slice('event: '.length), data: JSON.parse(data.slice('data: '.length)) };
    });
}

/** The stream as a person reads it: one short line per frame. */
async function transcript(...events: GenerationEvent[]): Promise<string[]> {
  return frames(await bytes(play(events))).map(
    ({ event, data: { type: _, ...rest } }) => `${event} ${JSON.stringify(rest)}`,
  );
}

const text = (piece: string): GenerationEvent => ({ type: 'text-delta', text: piece });
const thought = (piece: string): GenerationEvent => ({ type: 'reasoning-delta', text: piece });
const call = (index: number, ...pieces: string[]): GenerationEvent[] => [
  { type: 'tool-start', index, id: `toolu_${index}`, name: 'look' },
  ...pieces.map((json): GenerationEvent => ({ type: 'tool-delta', index, json })),
  { type: 'tool-end', index },
];

test('encodeStream: exact bytes of a plain reply', async () => {
  expect(await bytes(play([startEvent(), text('Hi'), text(' "you"\n'), finishEvent()]))).toBe(
    [
      'event: message_start',
      'data: {"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"mini","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":4,"cache_creation_input_tokens":0,"cache_read_input_tokens":3,"output_tokens":0}}}',
      '',
      'event: ping',
      'data: {"type":"ping"}',
      '',
      'event: content_block_start',
      'data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}',
      '',
      'event: content_block_delta',
      'data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Hi"}}',
      '',
      'event: content_block_delta',
      'data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":" \\"you\\"\\n"}}',
      '',
      'event: content_block_stop',
      'data: {"type":"content_block_stop","index":0}',
      '',
      'event: message_delta',
      'data: {"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"input_tokens":4,"cache_creation_input_tokens":0,"cache_read_input_tokens":3,"output_tokens":5}}',
      '',
      'event: message_stop',
      'data: {"type":"message_stop"}',
      '',
      '',
    ].join('\n'),
  );
});

test('encodeStream: thinking, text and calls are separate blocks, one open at a time', async () => {
  const usage = { promptTokens: 7, cachedTokens: 3, completionTokens: 9, reasoningTokens: 2 };
  const lines = await transcript(
    startEvent(),
    thought('hm'),
    text('Let me look.'),
    ...call(0, '{"at":', '"sky"}'),
    ...call(1),
    finishEvent({ reason: 'tool-calls', usage }),
  );
  expect(lines.slice(2)).toEqual([
    'content_block_start {"index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}',
    'content_block_delta {"index":0,"delta":{"type":"thinking_delta","thinking":"hm"}}',
    'content_block_delta {"index":0,"delta":{"type":"signature_delta","signature":""}}',
    'content_block_stop {"index":0}',
    'content_block_start {"index":1,"content_block":{"type":"text","text":""}}',
    'content_block_delta {"index":1,"delta":{"type":"text_delta","text":"Let me look."}}',
    'content_block_stop {"index":1}',
    'content_block_start {"index":2,"content_block":{"type":"tool_use","id":"toolu_0","name":"look","input":{}}}',
    'content_block_delta {"index":2,"delta":{"type":"input_json_delta","partial_json":"{\\"at\\":"}}',
    'content_block_delta {"index":2,"delta":{"type":"input_json_delta","partial_json":"\\"sky\\"}"}}',
    'content_block_stop {"index":2}',
    'content_block_start {"index":3,"content_block":{"type":"tool_use","id":"toolu_1","name":"look","input":{}}}',
    'content_block_stop {"index":3}',
    'message_delta {"delta":{"stop_reason":"tool_use","stop_sequence":null},"usage":{"input_tokens":4,"cache_creation_input_tokens":0,"cache_read_input_tokens":3,"output_tokens":9,"output_tokens_details":{"thinking_tokens":2}}}',
    'message_stop {}',
  ]);
});

test('encodeStream, foldReply: an empty reply has one empty text block', async () => {
  const lines = await transcript(startEvent(), text(''), thought(''), finishEvent());
  expect(lines.slice(2, -2)).toEqual([
    'content_block_start {"index":0,"content_block":{"type":"text","text":""}}',
    'content_block_stop {"index":0}',
  ]);
  expect((await foldReply(play([startEvent(), text(''), finishEvent()]), facts)).message).toMatchObject({
    content: [{ type: 'text', text: '' }],
  });
});

test('encodeStream, foldReply: no text block is added after thinking', async () => {
  const lines = await transcript(startEvent(), thought('Hm'), finishEvent({ reason: 'length', cause: 'limit' }));
  expect(lines.filter((line) => line.startsWith('content_block_start'))).toHaveLength(1);
});

test('encodeStream: message_start comes first, also before an early end or error', async () => {
  const names = async (...events: GenerationEvent[]) => (await transcript(...events)).map((line) => line.split(' ')[0]);
  const empty = ['content_block_start', 'content_block_stop'];
  const aborted = finishEvent({ reason: 'aborted', cause: 'aborted' });
  expect(await names(aborted)).toEqual(['message_start', ...empty, 'message_delta', 'message_stop']);
  const lost: GenerationEvent = { type: 'error', error: new AppError('engine-lost', { capability: 'text' }) };
  expect(await names(lost)).toEqual(['message_start', 'error']);
  expect(await names()).toEqual(['message_start', 'error']);
});

test('encodeStream: closes the open block before an error', async () => {
  const lost: GenerationEvent = { type: 'error', error: new AppError('engine-lost', { capability: 'text' }) };
  const lines = await transcript(startEvent(), text('Hel'), lost);
  expect(lines.slice(-2).map((line) => line.split(' ')[0])).toEqual(['content_block_stop', 'error']);
});

test.each<[string, Parameters<typeof finishEvent>[0], string, string | null]>([
  ['an end token', {}, 'end_turn', null],
  ['a stop text of the request', { cause: 'stop-text', stopText: 'END' }, 'stop_sequence', 'END'],
  ['a stop text that the server added', { cause: 'stop-text', stopText: '### User' }, 'end_turn', null],
  ['a stop text after a call', { reason: 'tool-calls', cause: 'stop-text', stopText: 'END' }, 'tool_use', null],
  ['the limit', { reason: 'length', cause: 'limit' }, 'max_tokens', null],
  ['an abort', { reason: 'aborted', cause: 'aborted' }, 'max_tokens', null],
])('stop_reason: %s, streamed and whole', async (_, finish, reason, stopText) => {
  const events = [startEvent(), text('Hi'), finishEvent(finish)];
  const expected = { stop_reason: reason, stop_sequence: stopText };
  const delta = frames(await bytes(play(events))).find(({ event }) => event === 'message_delta');
  expect(delta?.data.delta).toEqual(expected);
  expect((await foldReply(play(events), facts)).message).toMatchObject(expected);
});

test('stop_reason: model_context_window_exceeded if the context set the limit', async () => {
  const events = [startEvent({ maxTokens: 60 }), finishEvent({ reason: 'length', cause: 'limit' })];
  const expected = { stop_reason: 'model_context_window_exceeded' };
  expect((await foldReply(play(events), facts)).message).toMatchObject(expected);
});

test('encodeStream: an error event is the last frame', async () => {
  const error = new AppError('engine-lost', { capability: 'text' });
  const stream = await bytes(play([startEvent(), text('Hi'), { type: 'error', error }, text('more')]));
  expect(stream.slice(stream.indexOf('event: error'))).toBe(
    'event: error\ndata: {"type":"error","error":{"type":"api_error","message":"The text engine stopped in the middle of this request; it is being started again."}}\n\n',
  );
});

test('encodeStream: exceptions and a missing finish are errors', async () => {
  async function* broken() {
    yield startEvent();
    throw new Error('gone');
  }
  expect(frames(await bytes(broken())).at(-1)?.data.error).toMatchObject({ message: expect.stringContaining('gone') });
  expect(frames(await bytes(play([startEvent(), text('a')]))).at(-1)?.event).toBe('error');
  await expect(foldReply(play([startEvent()]), facts)).rejects.toThrow('broke off');
});

test('encodeStream: a warning is a comment', async () => {
  const stream = await bytes(
    play([startEvent(), { type: 'warning', code: 'w', text: 'two\nlines' }, text('Hi'), finishEvent()]),
  );
  expect(stream).toContain('\n\n: warning: "two\\nlines"\n\nevent: content_block_start');
});

test('ping: exact bytes', () => {
  expect(ping).toBe('event: ping\ndata: {"type":"ping"}\n\n');
});

test('foldReply: blocks in order, invalid arguments as an empty object', async () => {
  const { message, engineNotices, warnings } = await foldReply(
    play([
      startEvent({ droppedTokens: 12 }),
      { type: 'warning', code: 'prompt-trimmed', text: '…' },
      text('One.'),
      ...call(0, '{"a":', '1}'),
      text('Two.'),
      ...call(1, '{"cut'),
      ...call(2, '[1]'),
      finishEvent({ reason: 'tool-calls' }),
    ]),
    facts,
  );
  expect(message).toEqual({
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model: 'mini',
    content: [
      { type: 'text', text: 'One.' },
      { type: 'tool_use', id: 'toolu_0', name: 'look', input: { a: 1 } },
      { type: 'text', text: 'Two.' },
      { type: 'tool_use', id: 'toolu_1', name: 'look', input: {} },
      { type: 'tool_use', id: 'toolu_2', name: 'look', input: {} },
    ],
    stop_reason: 'tool_use',
    stop_sequence: null,
    usage: { input_tokens: 4, cache_creation_input_tokens: 0, cache_read_input_tokens: 3, output_tokens: 5 },
  });
  expect({ droppedTokens: engineNotices.droppedTokens, warnings }).toEqual({
    droppedTokens: 12,
    warnings: ['prompt-trimmed'],
  });
});

test('foldReply: of a warm-up reports the prompt and drops the token', async () => {
  const events = [startEvent(), text('x'), ...call(0, '{}'), finishEvent({ reason: 'tool-calls' })];
  expect((await foldReply(play(events), { ...facts, maxTokens: 1, warmUp: true })).message).toMatchObject({
    content: [],
    stop_reason: 'max_tokens',
    usage: { input_tokens: 4, output_tokens: 0 },
  });
});

const piece = fc.string({ maxLength: 6 });
const step = fc.oneof(
  piece.map((value) => [text(value)]),
  piece.map((value) => [thought(value)]),
  fc.dictionary(fc.string({ maxLength: 4 }), fc.integer(), { maxKeys: 3 }).map((input) => {
    const json = JSON.stringify(input);
    return call(0, json.slice(0, 3), json.slice(3));
  }),
);

test('encodeStream: adds up to foldReply, for any events', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 8 }), async (steps) => {
      const events = [startEvent(), ...steps.flat(), finishEvent()];
      const { message } = await foldReply(play(events), facts);
      expect(added(frames(await bytes(play(events))))).toEqual(message);
    }),
  );
});

/** What the official client does with the frames, in short. */
function added(all: readonly Frame[]): object {
  let message = {};
  const content: Record<string, unknown>[] = [];
  for (const { event, data } of all) {
    const block = content[data.index] ?? {};
    if (event === 'message_start') message = { ...data.message };
    if (event === 'content_block_start') content.push({ ...data.content_block });
    if (event === 'content_block_delta') addDelta(block, data.delta);
    if (event === 'content_block_stop' && block.json !== undefined) readInput(block);
    if (event === 'message_delta') message = { ...message, ...data.delta, usage: data.usage };
  }
  return { ...message, content };
}

function addDelta(block: Record<string, unknown>, { type: _, ...fields }: Readonly<Record<string, string>>): void {
  for (const [name, value] of Object.entries(fields)) {
    const field = name === 'partial_json' ? 'json' : name;
    block[field] = `${block[field] ?? ''}${value}`;
  }
}

function readInput(block: Record<string, unknown>): void {
  block.input = JSON.parse(String(block.json));
  delete block.json;
}
