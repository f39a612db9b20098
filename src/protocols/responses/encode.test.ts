import fc from 'fast-check';
import { expect, test } from 'vitest';
import { AppError } from '../../core/errors.ts';
import type { GenerationEvent } from '../../core/events.ts';
import { handTimer, latch } from '../../http/testing/world.ts';
import { dialectParts, finishEvent, play, startEvent } from '../testing/doubles.ts';
import { encodeStream, encodeWhole, type Session, withSilences } from './encode.ts';
import type { OutputOptions, ResponseObject } from './output.ts';

const response: ResponseObject = {
  id: 'resp_1',
  object: 'response',
  created_at: 1_700_000_000,
  completed_at: null,
  status: 'queued',
  background: false,
  error: null,
  incomplete_details: null,
  instructions: null,
  max_output_tokens: null,
  max_tool_calls: null,
  model: 'mini',
  output: [],
  parallel_tool_calls: true,
  previous_response_id: null,
  prompt_cache_key: null,
  reasoning: { effort: null, summary: null },
  safety_identifier: null,
  service_tier: 'default',
  store: true,
  temperature: 0.7,
  text: { format: { type: 'text' }, verbosity: 'medium' },
  tool_choice: 'auto',
  tools: [],
  top_logprobs: 0,
  top_p: 0.9,
  presence_penalty: 0,
  frequency_penalty: 0,
  truncation: 'disabled',
  usage: null,
  metadata: {},
};

function session(output: Partial<OutputOptions> = {}, own: Partial<ResponseObject> = {}): Session {
  const { newId } = dialectParts();
  return {
    response: { ...response, ...own },
    output: {
      newId,
      offered: [],
      withLogprobs: false,
      withEncryptedReasoning: false,
      withSearchSources: true,
      withFileResults: false,
      ...output,
    },
    now: () => 1_700_000_003_900,
    keep: (response) => response,
  };
}

const atOnce = { startTimer: dialectParts().startTimer, waits: () => false };
const says = (text: string): GenerationEvent => ({ type: 'text-delta', text });
const thinks = (text: string): GenerationEvent => ({ type: 'reasoning-delta', text });
const calls = (index: number, name: string, ...json: string[]): GenerationEvent[] => [
  { type: 'tool-start', index, id: `call_${index}`, name },
  ...json.map((part): GenerationEvent => ({ type: 'tool-delta', index, json: part })),
  { type: 'tool-end', index },
];

async function streamed(events: readonly GenerationEvent[], parts?: Partial<OutputOptions>): Promise<string> {
  let bytes = '';
  for await (const piece of encodeStream(play(events), session(parts), atOnce)) bytes += piece;
  return bytes;
}

interface Frame {
  readonly type: string;
  readonly sequence_number: number;
  readonly [field: string]: unknown;
}

/** Checks on the way that each frame has its name twice and its number in order. */
function frames(bytes: string): Frame[] {
  return bytes
    .split('\n\n')
    .slice(0, -1)
    .map((text, index) => {
      const [, name, data = ''] = /^event: (.*)\ndata: (.*)$/.exec(text) ?? [];
      const frame: Frame = JSON.parse(data);
      expect([frame.type, frame.sequence_number]).toEqual([name, index]);
      return frame;
    });
}

/** The stream as a person reads it: one short line per frame. */
function transcript(bytes: string): string[] {
  return frames(bytes).map(({ type, sequence_number: _, response, ...rest }) =>
    response ? `${type} ${(response as { status: string }).status}` : `${type} ${JSON.stringify(rest)}`,
  );
}

const head =
  '"id":"resp_1","object":"response","created_at":1700000000,"completed_at":null,"status":"in_progress",' +
  '"background":false,"error":null,"incomplete_details":null,"instructions":null,"max_output_tokens":null,' +
  '"max_tool_calls":null,"model":"mini","output":[],"parallel_tool_calls":true,"previous_response_id":null,' +
  '"prompt_cache_key":null,"reasoning":{"effort":null,"summary":null},"safety_identifier":null,' +
  '"service_tier":"default","store":true,"temperature":0.7,"text":{"format":{"type":"text"},"verbosity":"medium"},' +
  '"tool_choice":"auto","tools":[],"top_logprobs":0,"top_p":0.9,"presence_penalty":0,"frequency_penalty":0,' +
  '"truncation":"disabled","usage":null,"metadata":{}';
const message =
  '{"id":"msg_1","type":"message","status":"completed","role":"assistant",' +
  '"content":[{"type":"output_text","text":"Hi!","annotations":[],"logprobs":[]}]}';
const usage =
  '{"input_tokens":7,"input_tokens_details":{"cached_tokens":3,"cache_write_tokens":0},"output_tokens":5,' +
  '"output_tokens_details":{"reasoning_tokens":0},"total_tokens":12}';
const whole = head
  .replace('"completed_at":null,"status":"in_progress"', '"completed_at":1700000003,"status":"completed"')
  .replace('"output":[]', `"output":[${message}]`)
  .replace('"usage":null', `"usage":${usage}`);

test('encodeStream: exact bytes of a plain reply', async () => {
  expect(await streamed([startEvent(), says('Hi'), says('!'), finishEvent()])).toBe(
    [
      'event: response.created',
      `data: {"type":"response.created","sequence_number":0,"response":{${head}}}`,
      '',
      'event: response.in_progress',
      `data: {"type":"response.in_progress","sequence_number":1,"response":{${head}}}`,
      '',
      'event: response.output_item.added',
      'data: {"type":"response.output_item.added","sequence_number":2,"output_index":0,"item":{"id":"msg_1",' +
        '"type":"message","status":"in_progress","role":"assistant","content":[]}}',
      '',
      'event: response.content_part.added',
      'data: {"type":"response.content_part.added","sequence_number":3,"item_id":"msg_1","output_index":0,' +
        '"content_index":0,"part":{"type":"output_text","text":"","annotations":[],"logprobs":[]}}',
      '',
      'event: response.output_text.delta',
      'data: {"type":"response.output_text.delta","item_id":"msg_1","output_index":0,"content_index":0,' +
        '"delta":"Hi","logprobs":[],"sequence_number":4}',
      '',
      'event: response.output_text.delta',
      'data: {"type":"response.output_text.delta","item_id":"msg_1","output_index":0,"content_index":0,' +
        '"delta":"!","logprobs":[],"sequence_number":5}',
      '',
      'event: response.output_text.done',
      'data: {"type":"response.output_text.done","sequence_number":6,"item_id":"msg_1","output_index":0,' +
        '"content_index":0,"text":"Hi!","logprobs":[]}',
      '',
      'event: response.content_part.done',
      'data: {"type":"response.content_part.done","sequence_number":7,"item_id":"msg_1","output_index":0,' +
        '"content_index":0,"part":{"type":"output_text","text":"Hi!","annotations":[],"logprobs":[]}}',
      '',
      'event: response.output_item.done',
      `data: {"type":"response.output_item.done","sequence_number":8,"output_index":0,"item":${message}}`,
      '',
      'event: response.completed',
      `data: {"type":"response.completed","sequence_number":9,"response":{${whole}}}`,
      '',
      '',
    ].join('\n'),
  );
});

test('encodeWhole: exact bytes of a plain reply', async () => {
  const { response } = await encodeWhole(play([startEvent(), says('Hi'), says('!'), finishEvent()]), session());
  expect(JSON.stringify(response)).toBe(`{${whole}}`);
});

test('encodeStream: reasoning, text and calls are separate items, one open at a time', async () => {
  const bytes = await streamed([
    startEvent(),
    thinks('hm'),
    says('Let me look.'),
    ...calls(0, 'look', '{"at":', '"sky"}'),
    ...calls(1, 'wait', '{}'),
    finishEvent({ reason: 'tool-calls' }),
  ]);
  const summary = '{"type":"summary_text","text":"hm"}';
  const text = '{"type":"output_text","text":"Let me look.","annotations":[],"logprobs":[]}';
  expect(transcript(bytes)).toEqual([
    'response.created in_progress',
    'response.in_progress in_progress',
    'response.output_item.added {"output_index":0,"item":{"id":"rs_1","type":"reasoning","summary":[]}}',
    'response.reasoning_summary_part.added {"item_id":"rs_1","output_index":0,"summary_index":0,"part":{"type":"summary_text","text":""}}',
    'response.reasoning_summary_text.delta {"item_id":"rs_1","output_index":0,"summary_index":0,"delta":"hm"}',
    'response.reasoning_summary_text.done {"item_id":"rs_1","output_index":0,"summary_index":0,"text":"hm"}',
    `response.reasoning_summary_part.done {"item_id":"rs_1","output_index":0,"summary_index":0,"part":${summary}}`,
    `response.output_item.done {"output_index":0,"item":{"id":"rs_1","type":"reasoning","summary":[${summary}]}}`,
    'response.output_item.added {"output_index":1,"item":{"id":"msg_2","type":"message","status":"in_progress","role":"assistant","content":[]}}',
    'response.content_part.added {"item_id":"msg_2","output_index":1,"content_index":0,"part":{"type":"output_text","text":"","annotations":[],"logprobs":[]}}',
    'response.output_text.delta {"item_id":"msg_2","output_index":1,"content_index":0,"delta":"Let me look.","logprobs":[]}',
    'response.output_text.done {"item_id":"msg_2","output_index":1,"content_index":0,"text":"Let me look.","logprobs":[]}',
    `response.content_part.done {"item_id":"msg_2","output_index":1,"content_index":0,"part":${text}}`,
    `response.output_item.done {"output_index":1,"item":{"id":"msg_2","type":"message","status":"completed","role":"assistant","content":[${text}]}}`,
    'response.output_item.added {"output_index":2,"item":{"id":"fc_3","type":"function_call","status":"in_progress","call_id":"call_0","name":"look","arguments":""}}',
    'response.function_call_arguments.delta {"item_id":"fc_3","output_index":2,"delta":"{\\"at\\":"}',
    'response.function_call_arguments.delta {"item_id":"fc_3","output_index":2,"delta":"\\"sky\\"}"}',
    'response.function_call_arguments.done {"item_id":"fc_3","output_index":2,"name":"look","arguments":"{\\"at\\":\\"sky\\"}"}',
    'response.output_item.done {"output_index":2,"item":{"id":"fc_3","type":"function_call","status":"completed","call_id":"call_0","name":"look","arguments":"{\\"at\\":\\"sky\\"}"}}',
    'response.output_item.added {"output_index":3,"item":{"id":"fc_4","type":"function_call","status":"in_progress","call_id":"call_1","name":"wait","arguments":""}}',
    'response.function_call_arguments.delta {"item_id":"fc_4","output_index":3,"delta":"{}"}',
    'response.function_call_arguments.done {"item_id":"fc_4","output_index":3,"name":"wait","arguments":"{}"}',
    'response.output_item.done {"output_index":3,"item":{"id":"fc_4","type":"function_call","status":"completed","call_id":"call_1","name":"wait","arguments":"{}"}}',
    'response.completed completed',
  ]);
});

test('encodeStream: custom tools get their input, members of a namespace keep it', async () => {
  const tool = (name: string) => ({ name, parameters: {} });
  const offered = [
    { kind: 'custom', name: 'patch', namespace: undefined, tool: tool('patch') },
    { kind: 'function', name: 'look', namespace: 'sky', tool: tool('sky__look') },
  ] as const;
  const events = [
    ...calls(0, 'patch', '{"inp', 'ut":"a\\nb"}'),
    ...calls(1, 'sky__look', '{}'),
    finishEvent({ reason: 'tool-calls' }),
  ];
  const lines = transcript(await streamed(events, { offered }));
  expect(lines.slice(2)).toEqual([
    'response.output_item.added {"output_index":0,"item":{"id":"ctc_1","type":"custom_tool_call","status":"in_progress","call_id":"call_0","name":"patch","input":""}}',
    'response.custom_tool_call_input.delta {"item_id":"ctc_1","output_index":0,"delta":"a\\nb"}',
    'response.custom_tool_call_input.done {"item_id":"ctc_1","output_index":0,"input":"a\\nb"}',
    'response.output_item.done {"output_index":0,"item":{"id":"ctc_1","type":"custom_tool_call","status":"completed","call_id":"call_0","name":"patch","input":"a\\nb"}}',
    'response.output_item.added {"output_index":1,"item":{"id":"fc_2","type":"function_call","status":"in_progress","call_id":"call_1","name":"look","namespace":"sky","arguments":""}}',
    'response.function_call_arguments.delta {"item_id":"fc_2","output_index":1,"delta":"{}"}',
    'response.function_call_arguments.done {"item_id":"fc_2","output_index":1,"name":"look","arguments":"{}"}',
    'response.output_item.done {"output_index":1,"item":{"id":"fc_2","type":"function_call","status":"completed","call_id":"call_1","name":"look","namespace":"sky","arguments":"{}"}}',
    'response.completed completed',
  ]);
});

const length = finishEvent({ reason: 'length', cause: 'limit' });
const aborted = finishEvent({ reason: 'aborted', cause: 'aborted' });

test.each<[string, GenerationEvent[], object]>([
  ['a text cut at its limit', [says('Hel'), length], { output: [{ status: 'incomplete' }], status: 'incomplete' }],
  ['thinking cut at its limit', [thinks('hm'), length], { output: [{ type: 'reasoning' }], status: 'incomplete' }],
  ['a limit before any text', [length], { output: [{ type: 'message', status: 'incomplete' }], status: 'incomplete' }],
  [
    'an incomplete call',
    [...calls(0, 'look', '{"at":'), length],
    { output: [{ type: 'function_call', status: 'incomplete', arguments: '{"at":' }], status: 'incomplete' },
  ],
  ['an empty reply', [finishEvent()], { output: [{ content: [{ text: '' }] }], status: 'completed' }],
  [
    'reasoning without an answer',
    [thinks('hm'), finishEvent()],
    { output: [{ type: 'reasoning' }, { content: [{ text: '' }], status: 'completed' }], status: 'completed' },
  ],
  [
    'an aborted reply',
    [says('Hel'), aborted],
    { output: [{ status: 'incomplete' }], status: 'incomplete', incomplete_details: { reason: 'cancelled' } },
  ],
  [
    'text after a call',
    [...calls(0, 'look', '{}'), says('Done.'), finishEvent()],
    { output: [{ type: 'function_call' }, { type: 'message' }], status: 'completed' },
  ],
])('encodeStream, encodeWhole: %s', async (_, events, expected) => {
  const { response } = await encodeWhole(play([startEvent(), ...events]), session());
  expect(response).toMatchObject(expected);
  expect(frames(await streamed([startEvent(), ...events])).at(-1)?.response).toEqual(response);
});

test('encodeWhole: an aborted background response is cancelled', async () => {
  const { response } = await encodeWhole(play([says('Hel'), aborted]), session({}, { background: true }));
  expect(response).toMatchObject({ status: 'cancelled', incomplete_details: null });
});

test('encodeStream: an error closes the open item and ends with a failed response', async () => {
  const error = new AppError('engine-lost', { capability: 'text' });
  const received = frames(await streamed([startEvent(), says('Hel'), { type: 'error', error }]));
  expect(received.slice(-2)).toMatchObject([
    { type: 'response.output_item.done', item: { status: 'incomplete' } },
    {
      type: 'response.failed',
      response: {
        status: 'failed',
        error: { code: 'server_error', message: expect.stringContaining('being started again') },
        output: [{ type: 'message', status: 'incomplete' }],
      },
    },
  ]);
  await expect(encodeWhole(play([startEvent(), { type: 'error', error }]), session())).rejects.toBe(error);
});

test('encodeStream, encodeWhole: events without a finish are a failure', async () => {
  expect(transcript(await streamed([startEvent()])).at(-1)).toBe('response.failed failed');
  await expect(encodeWhole(play([startEvent()]), session())).rejects.toThrow('stopped in the middle');
});

const figure = (text: string) => ({ token: 1, text, bytes: [...Buffer.from(text)], logprob: -1, top: [] });
const saysTokens = (text: string, ...tokens: string[]): GenerationEvent => ({
  type: 'text-delta',
  text,
  logprobs: tokens.map(figure),
});
const spoken = (text: string) => ({ token: text, logprob: -1, bytes: [...Buffer.from(text)], top_logprobs: [] });

test('logprobs: those without text join the next text, only if requested', async () => {
  const events = [saysTokens('', 'H'), saysTokens('Hi', 'i'), finishEvent()];
  const received = frames(await streamed(events, { withLogprobs: true }));
  const at = (type: string) => received.find((frame) => frame.type === type)?.logprobs;
  expect(at('response.output_text.delta')).toEqual([spoken('H'), spoken('i')]);
  expect(at('response.output_text.done')).toEqual([spoken('H'), spoken('i')]);
  expect(await streamed(events)).not.toContain('"token":"H"');
});

test('logprobs: none for tokens that are not in the text', async () => {
  const thought = { ...thinks('hm'), logprobs: [figure('hm'), figure('</think>'), figure('So')] } as GenerationEvent;
  const events = [thought, says('So'), saysTokens('.', '.', '<|end|>'), saysTokens('', '<|end|>'), finishEvent()];
  const { response } = await encodeWhole(play(events), session({ withLogprobs: true }));
  expect(response.output[1]).toMatchObject({ content: [{ text: 'So.', logprobs: [spoken('So'), spoken('.')] }] });
});

test('encrypted_content: only if requested', async () => {
  const events = [thinks('hm'), says('Hi'), finishEvent()];
  const { response } = await encodeWhole(play(events), session({ withEncryptedReasoning: true }));
  expect(response.output[0]).toMatchObject({ encrypted_content: 'parley1.aG0=' });
  expect(await streamed(events)).not.toContain('encrypted_content');
});

test('encodeStream: repeats response.in_progress during a long silence', async () => {
  const { startTimer, pass } = handTimer();
  const first = latch();
  async function* events(): AsyncGenerator<GenerationEvent> {
    yield startEvent();
    await first.promise;
    yield says('Hi');
    yield finishEvent();
  }
  const stream = encodeStream(events(), session(), { startTimer, waits: () => false });
  let bytes = (await stream.next()).value ?? '';
  const silent = stream.next();
  // The start has to be read before the wait for the first word begins.
  await new Promise((resolve) => setImmediate(resolve));
  pass(30_000);
  bytes += (await silent).value ?? '';
  first.open();
  for await (const piece of stream) bytes += piece;
  expect(frames(bytes).map(({ type }) => type)).toEqual([
    'response.created',
    'response.in_progress',
    'response.in_progress',
    'response.output_item.added',
    'response.content_part.added',
    'response.output_text.delta',
    'response.output_text.done',
    'response.content_part.done',
    'response.output_item.done',
    'response.completed',
  ]);
});

/** Replies of any shape: runs of thinking, text and whole or broken calls. */
const anyEvents = fc
  .array(
    fc.oneof(
      fc.string().map((text) => [says(text)]),
      fc.string().map((text) => [thinks(text)]),
      fc.array(fc.string({ maxLength: 5 })).map((json) => calls(0, 'look', ...json)),
    ),
    { maxLength: 8 },
  )
  .map((runs) => runs.flat());

test('encodeStream: applying the frames gives the final response, for any events', async () => {
  const ends = fc.constantFrom(finishEvent(), length, aborted, finishEvent({ reason: 'tool-calls' }));
  await fc.assert(
    fc.asyncProperty(anyEvents, ends, async (events, end) => {
      const all = [startEvent(), ...events, end];
      const { response } = await encodeWhole(play(all), session());
      const received = frames(await streamed(all));
      expect(received.at(-1)?.response).toEqual(response);
      const items: unknown[] = [];
      const texts = new Map<unknown, string>();
      for (const frame of received) {
        if (frame.type === 'response.output_item.done') items[frame.output_index as number] = frame.item;
        if (frame.type.endsWith('.delta')) texts.set(frame.item_id, (texts.get(frame.item_id) ?? '') + frame.delta);
        const done = frame.text ?? frame.arguments;
        if (done !== undefined) expect(texts.get(frame.item_id) ?? '').toBe(done);
      }
      expect(items).toEqual(response.output);
    }),
  );
});

test('withSilences: yields undefined for each silence and loses no value', async () => {
  const { startTimer, pass, waiting } = handTimer();
  const late = latch<string>();
  async function* source(): AsyncGenerator<string> {
    yield 'a';
    yield await late.promise;
  }
  const values = withSilences(source(), 1000, startTimer);
  expect((await values.next()).value).toBe('a');
  for (const _ of [1, 2]) {
    const silent = values.next();
    await Promise.resolve();
    pass(1000);
    expect(await silent).toEqual({ done: false, value: undefined });
  }
  late.open('b');
  expect((await values.next()).value).toBe('b');
  expect((await values.next()).done).toBe(true);
  expect(waiting()).toEqual([]);
});

test('withSilences: closes the source on return, and passes its errors on', async () => {
  const { startTimer, waiting } = handTimer();
  let closed = false;
  async function* source(): AsyncGenerator<string> {
    try {
      yield 'a';
      throw new Error('lost');
    } finally {
      closed = true;
    }
  }
  for await (const _ of withSilences(source(), 1000, startTimer)) break;
  expect([closed, waiting()]).toEqual([true, []]);
  const values = withSilences(source(), 1000, startTimer);
  await values.next();
  await expect(values.next()).rejects.toThrow('lost');
  expect(waiting()).toEqual([]);
});
