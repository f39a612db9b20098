import fc from 'fast-check';
import { expect, test } from 'vitest';
import { AppError } from '../../core/errors.ts';
import type { GenerationEvent, TokenLogprob } from '../../core/events.ts';
import { finishEvent, play, startEvent } from '../testing/doubles.ts';
import { chatShape, completionShape, encodeStream, encodeWhole, type ReplyFacts, type Shape } from './encode.ts';

const began = Date.UTC(2026, 10, 15, 1, 2, 3, 456);
const stamp = '2026-11-15T01:02:03.956Z';
const timings = { initMs: 1.5, promptMs: 130.25, generationMs: 200, processedTokens: 4 };
const finish = finishEvent({ timings });
const facts: ReplyFacts = { model: 'my "model"', now: () => began + 500, startedAt: began };
const figures =
  '"total_duration":500000000,"load_duration":169750000,"prompt_eval_count":7,"prompt_eval_duration":130250000,"eval_count":5,"eval_duration":200000000';
const opening = `{"model":"my \\"model\\"","created_at":"${stamp}",`;

async function linesOf(events: readonly GenerationEvent[], shape: Shape, own: Partial<ReplyFacts> = {}) {
  let all = '';
  for await (const line of encodeStream(play(events), shape, { ...facts, ...own })) all += line;
  expect(all.endsWith('\n')).toBe(true);
  return all.slice(0, -1).split('\n');
}

const token = (text: string): TokenLogprob => ({
  token: 1,
  text,
  bytes: [...Buffer.from(text)],
  logprob: -0.5,
  top: [],
});

test('encodeStream: a chat is lines of pieces, thinking first, and a last line with figures', async () => {
  const events: GenerationEvent[] = [
    startEvent(),
    { type: 'reasoning-delta', text: 'hm\n' },
    { type: 'text-delta', text: 'H"i' },
    { type: 'text-delta', text: '' },
    finish,
  ];
  expect(await linesOf(events, chatShape)).toEqual([
    `${opening}"message":{"role":"assistant","content":"","thinking":"hm\\n"},"done":false}`,
    `${opening}"message":{"role":"assistant","content":"H\\"i"},"done":false}`,
    `${opening}"message":{"role":"assistant","content":""},"done":true,"done_reason":"stop",${figures}}`,
  ]);
});

test('encodeStream: a completion has response, and context in the last line', async () => {
  const said: object[] = [];
  const context: ReplyFacts['context'] = async (reply) => {
    said.push({ ...reply });
    return [1, 2, 3];
  };
  const events: GenerationEvent[] = [
    startEvent(),
    { type: 'reasoning-delta', text: 'hm' },
    { type: 'text-delta', text: 'Hi' },
    { type: 'text-delta', text: '!' },
    finish,
  ];
  expect(await linesOf(events, completionShape, { context })).toEqual([
    `${opening}"response":"","thinking":"hm","done":false}`,
    `${opening}"response":"Hi","done":false}`,
    `${opening}"response":"!","done":false}`,
    `${opening}"response":"","done":true,"done_reason":"stop","context":[1,2,3],${figures}}`,
  ]);
  expect(said).toEqual([{ reasoning: 'hm', text: 'Hi!' }]);
});

test('encodeStream: a call is one line with an object of arguments, and the reason is stop', async () => {
  const events: GenerationEvent[] = [
    startEvent(),
    { type: 'tool-start', index: 0, id: 'call_1', name: 'f' },
    { type: 'tool-delta', index: 0, json: '{"city":\n' },
    { type: 'tool-delta', index: 0, json: '"Paris"}' },
    { type: 'tool-end', index: 0 },
    { type: 'tool-start', index: 1, id: 'call_2', name: 'g' },
    { type: 'tool-end', index: 1 },
    finishEvent({ reason: 'tool-calls', timings }),
  ];
  expect(await linesOf(events, chatShape)).toEqual([
    `${opening}"message":{"role":"assistant","content":"","tool_calls":[{"id":"call_1","function":{"index":0,"name":"f","arguments":{"city":"Paris"}}}]},"done":false}`,
    `${opening}"message":{"role":"assistant","content":"","tool_calls":[{"id":"call_2","function":{"index":1,"name":"g","arguments":{}}}]},"done":false}`,
    `${opening}"message":{"role":"assistant","content":""},"done":true,"done_reason":"stop",${figures}}`,
  ]);
  expect((await encodeWhole(play(events), chatShape, facts)).body).toMatchObject({
    message: {
      role: 'assistant',
      content: '',
      tool_calls: [
        { id: 'call_1', function: { index: 0, name: 'f', arguments: { city: 'Paris' } } },
        { id: 'call_2', function: { index: 1, name: 'g', arguments: {} } },
      ],
    },
    done_reason: 'stop',
  });
});

test.each([[[{ type: 'tool-end', index: 0 } as GenerationEvent]], [[]]])(
  'encodeStream: a cut-off call is left out with a warning, closed (%j) or not',
  async (end) => {
    const events: GenerationEvent[] = [
      startEvent(),
      { type: 'tool-start', index: 0, id: 'call_1', name: 'f' },
      { type: 'tool-delta', index: 0, json: '{"city":"Par' },
      ...end,
      finishEvent({ reason: 'length', timings }),
    ];
    const lines = await linesOf(events, chatShape);
    const warning = 'A call of f was cut off before its arguments were whole, so it is left out.';
    expect(lines.map((line) => JSON.parse(line))).toMatchObject([
      { message: { content: '' }, done: true, done_reason: 'length', warnings: [warning] },
    ]);
    expect((await encodeWhole(play(events), chatShape, facts)).body).toMatchObject({
      message: { role: 'assistant', content: '' },
      done_reason: 'length',
      warnings: [warning],
    });
  },
);

test.each([
  ['length', []],
  ['stop', [{ id: 'call_1', function: { index: 0, name: 'f', arguments: {} } }]],
] as const)('encodeStream: a call without arguments in a reply that ends by %s', async (reason, calls) => {
  const events: GenerationEvent[] = [
    startEvent(),
    { type: 'tool-start', index: 0, id: 'call_1', name: 'f' },
    { type: 'tool-end', index: 0 },
    finishEvent({ reason, timings }),
  ];
  const lines = (await linesOf(events, chatShape)).map((line) => JSON.parse(line));
  expect(lines.flatMap(({ message }) => message.tool_calls ?? [])).toEqual(calls);
  const { body } = (await encodeWhole(play(events), chatShape, facts)) as {
    body: { message: { tool_calls?: unknown[] } };
  };
  expect(body.message.tool_calls ?? []).toEqual(calls);
});

test('encodeStream: keeps a call before a cut-off one', async () => {
  const events: GenerationEvent[] = [
    startEvent(),
    { type: 'tool-start', index: 0, id: 'call_1', name: 'f' },
    { type: 'tool-delta', index: 0, json: '{"city":"Paris"}' },
    { type: 'tool-end', index: 0 },
    { type: 'tool-start', index: 1, id: 'call_2', name: 'f' },
    { type: 'tool-delta', index: 1, json: '{"ci' },
    { type: 'tool-end', index: 1 },
    finishEvent({ reason: 'length', timings }),
  ];
  const calls = [{ id: 'call_1', function: { index: 0, name: 'f', arguments: { city: 'Paris' } } }];
  const lines = (await linesOf(events, chatShape)).map((line) => JSON.parse(line));
  expect(lines[0].message.tool_calls).toEqual(calls);
  expect(lines[1]).toMatchObject({ done: true, done_reason: 'length', message: { content: '' } });
  const { body } = await encodeWhole(play(events), chatShape, facts);
  expect(body).toMatchObject({ message: { content: '', tool_calls: calls }, done_reason: 'length' });
});

test('encodeStream: arguments that are not an object are text, unless cut off', async () => {
  const events: GenerationEvent[] = [
    startEvent(),
    { type: 'tool-start', index: 0, id: 'call_1', name: 'f' },
    { type: 'tool-delta', index: 0, json: '{"city": Paris}' },
    { type: 'tool-end', index: 0 },
    finishEvent({ timings }),
  ];
  const [first] = await linesOf(events, chatShape);
  expect(JSON.parse(first ?? '').message.content).toBe('{"city": Paris}');
  expect((await encodeWhole(play(events), chatShape, facts)).body).toMatchObject({
    message: { content: '{"city": Paris}' },
    done_reason: 'stop',
  });
});

test.each([
  ['stop', 'stop'],
  ['length', 'length'],
  ['tool-calls', 'stop'],
  ['aborted', 'length'],
] as const)('done_reason: %s is %s', async (reason, doneReason) => {
  const [last] = await linesOf([startEvent(), finishEvent({ reason })], chatShape);
  expect(JSON.parse(last ?? '')).toMatchObject({ done: true, done_reason: doneReason });
});

test('encodeStream: logprobs are on the line of their token', async () => {
  const top = [{ token: 2, text: 'Yo', bytes: [89, 111], logprob: -1 }];
  const events: GenerationEvent[] = [
    startEvent(),
    { type: 'reasoning-delta', text: 'hm', logprobs: [token('hm')] },
    { type: 'text-delta', text: 'Hi', logprobs: [{ ...token('Hi'), top }] },
    finish,
  ];
  const lines = await linesOf(events, completionShape);
  expect(lines[0]).toBe(
    `${opening}"response":"","thinking":"hm","done":false,"logprobs":[{"token":"hm","logprob":-0.5,"bytes":[104,109]}]}`,
  );
  expect(lines[1]).toBe(
    `${opening}"response":"Hi","done":false,"logprobs":[{"token":"Hi","logprob":-0.5,"bytes":[72,105],"top_logprobs":[{"token":"Yo","logprob":-1,"bytes":[89,111]}]}]}`,
  );
  expect(lines[2]).not.toContain('logprobs');
  expect((await encodeWhole(play(events), completionShape, facts)).body).toMatchObject({
    logprobs: [{ token: 'hm' }, { token: 'Hi' }],
  });
});

test('encodeStream: tokens that are not shown have no logprobs', async () => {
  const events: GenerationEvent[] = [
    startEvent(),
    { type: 'reasoning-delta', text: 'hm', logprobs: [token('hm'), token('</think>'), token('So')] },
    { type: 'text-delta', text: 'So' },
    { type: 'text-delta', text: '.', logprobs: [token('.'), token('<|end|>')] },
    { type: 'text-delta', text: '', logprobs: [token('<|end|>')] },
    finish,
  ];
  const lines = (await linesOf(events, chatShape)).map((line) => JSON.parse(line));
  const texts = lines.map(({ logprobs }) => logprobs?.map((one: { token: string }) => one.token));
  expect(texts).toEqual([['hm'], ['So'], ['.'], undefined]);
  expect((await encodeWhole(play(events), chatShape, facts)).body).toMatchObject({
    logprobs: [{ token: 'hm' }, { token: 'So' }, { token: '.' }],
  });
});

test('encodeStream: an error is the last line, without done', async () => {
  const error = new AppError('engine-lost', { capability: 'text' });
  const lines = await linesOf([startEvent(), { type: 'text-delta', text: 'Hi' }, { type: 'error', error }], chatShape);
  expect(lines).toEqual([
    `${opening}"message":{"role":"assistant","content":"Hi"},"done":false}`,
    `{"error":${JSON.stringify(error.message)}}`,
  ]);
});

test('encodeStream: an exception is the last line', async () => {
  async function* broken(): AsyncGenerator<GenerationEvent> {
    yield startEvent();
    throw new Error('boom');
  }
  const lines: string[] = [];
  for await (const line of encodeStream(broken(), chatShape, facts)) lines.push(line);
  expect(lines).toEqual(['{"error":"Something unexpected went wrong here: boom."}\n']);
});

test('encodeStream: events without a finish end with done', async () => {
  const [last] = await linesOf([startEvent()], chatShape);
  expect(JSON.parse(last ?? '')).toMatchObject({ done: true, done_reason: 'length', eval_count: 0 });
});

test('encodeStream: warnings are in the last line', async () => {
  const events: GenerationEvent[] = [startEvent(), { type: 'warning', code: 'x', text: 'Mind the gap.' }, finish];
  expect((await linesOf(events, chatShape))[0]).toContain('"eval_duration":200000000,"warnings":["Mind the gap."]}');
  expect((await encodeWhole(play(events), chatShape, facts)).body).toMatchObject({ warnings: ['Mind the gap.'] });
});

test('encodeWhole: one object with all fields', async () => {
  const events: GenerationEvent[] = [
    startEvent({ droppedTokens: 12 }),
    { type: 'reasoning-delta', text: 'hm' },
    { type: 'text-delta', text: 'Hi' },
    finish,
  ];
  const context = async () => [1, 2];
  const { body, engineNotices } = await encodeWhole(play(events), completionShape, { ...facts, context });
  expect(JSON.stringify(body)).toBe(
    `${opening}"response":"Hi","thinking":"hm","done":true,"done_reason":"stop","context":[1,2],${figures}}`,
  );
  expect(engineNotices.droppedTokens).toBe(12);
});

const delta = fc.oneof(
  fc.record({ type: fc.constant('text-delta' as const), text: fc.string() }),
  fc.record({ type: fc.constant('reasoning-delta' as const), text: fc.string() }),
);
const call = fc.record({ name: fc.string(), given: fc.dictionary(fc.string(), fc.jsonValue()) });

test('encodeWhole: equal to the lines of a stream', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(delta), fc.array(call), async (deltas, calls) => {
      const events: GenerationEvent[] = [
        startEvent(),
        ...deltas,
        ...calls.flatMap(({ name, given }, index): GenerationEvent[] => [
          { type: 'tool-start', index, id: `call_${index}`, name },
          { type: 'tool-delta', index, json: JSON.stringify(given) },
          { type: 'tool-end', index },
        ]),
        finish,
      ];
      const sum = { content: '', thinking: '', tool_calls: [] as unknown[] };
      let last: Record<string, unknown> = {};
      for (const line of await linesOf(events, chatShape)) {
        last = JSON.parse(line);
        const { content, thinking = '', tool_calls = [] } = last.message as typeof sum;
        sum.content += content;
        sum.thinking += thinking;
        sum.tool_calls.push(...tool_calls);
      }
      const whole = (await encodeWhole(play(events), chatShape, facts)).body as Record<string, unknown>;
      const { message, ...rest } = JSON.parse(JSON.stringify(whole));
      expect({ thinking: '', tool_calls: [], ...message }).toEqual({ role: 'assistant', ...sum });
      expect({ ...rest, message: last.message }).toEqual(last);
    }),
  );
});
