import fc from 'fast-check';
import { expect, test } from 'vitest';
import { AppError } from '../../core/errors.ts';
import type { GenerationEvent, TokenLogprob } from '../../core/events.ts';
import { callOf, controlLimits, finishEvent, play, scriptedText, seeing, startEvent } from '../testing/doubles.ts';
import { jsonOf, textOf } from '../testing/reply-text.ts';
import { CompletionRecord, lineTooShallow, recordOf } from './completion.ts';
import { ask, llamacppParts, scripted } from './testing/world.ts';

const timings = { initMs: 1, promptMs: 20, generationMs: 50, processedTokens: 4 };
const finish = finishEvent({ timings });
const delta = (text: string): GenerationEvent => ({ type: 'text-delta', text });
const script = [startEvent(), delta('Hel'), delta('lo\n'), finish];
const complete = (body: object) => callOf('/completion', body);

const spokenTimings = {
  cache_n: 3,
  prompt_n: 4,
  prompt_ms: 20,
  prompt_per_token_ms: 5,
  prompt_per_second: 200,
  predicted_n: 5,
  predicted_ms: 50,
  predicted_per_token_ms: 10,
  predicted_per_second: 100,
};

test('completion: a whole reply has every field of the dialect', async () => {
  const { parts, asked } = scripted(script);
  const reply = await ask(parts, complete({ prompt: 'Say', n_predict: 9, seed: 42, stop: ['END'] }));
  expect(await jsonOf(reply)).toEqual({
    index: 0,
    content: 'Hello\n',
    tokens: [],
    id_slot: 0,
    stop: true,
    model: 'mini',
    tokens_predicted: 5,
    tokens_evaluated: 7,
    generation_settings: expect.objectContaining({ n_predict: 9, seed: 1, stop: ['END'], grammar: '' }),
    prompt: 'Say',
    has_new_line: true,
    truncated: false,
    stop_type: 'eos',
    stopping_word: '',
    tokens_cached: 11,
    timings: spokenTimings,
  });
  expect(asked[0]?.request).toMatchObject({ prompt: 'Say', memory: '', maxTokens: 9, overflow: 'refuse' });
});

test('completion: returns the seed that was used', async () => {
  const settings = async (seed: number) =>
    jsonOf(await ask(scripted([startEvent({ seed }), finish]).parts, complete({ prompt: '' })));
  expect(await settings(77)).toMatchObject({ generation_settings: { seed: 77 } });
  expect(await settings(2 ** 31)).toMatchObject({ generation_settings: { seed: 0 } });
});

test('completion: a stream is pieces and a last object, without an end mark', async () => {
  const { parts } = scripted(script);
  const reply = await ask(parts, complete({ prompt: 'Say', stream: true, response_fields: ['content', 'stop'] }));
  expect(reply.headers).toMatchObject({ 'content-type': 'text/event-stream' });
  expect(await textOf(reply)).toBe(
    [
      'data: {"index":0,"content":"Hel","tokens":[],"stop":false,"id_slot":0,"tokens_predicted":1,"tokens_evaluated":7}',
      'data: {"index":0,"content":"lo\\n","tokens":[],"stop":false,"id_slot":0,"tokens_predicted":2,"tokens_evaluated":7}',
      'data: {"content":"","stop":true}',
      '',
    ].join('\n\n'),
  );
});

test('response_fields: returned under the requested path', async () => {
  const { parts } = scripted(script);
  const response_fields = ['content', 'generation_settings/n_predict', 'timings/cache_n', 'prompt/x', 'nowhere/at/all'];
  expect(await jsonOf(await ask(parts, complete({ prompt: 'Say', n_predict: 9, response_fields })))).toEqual({
    content: 'Hello\n',
    'generation_settings/n_predict': 9,
    'timings/cache_n': 3,
  });
});

test('completion: the pieces of a stream add up to the whole reply', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.string({ unit: 'grapheme' }), { maxLength: 8 }), async (texts) => {
      const { parts } = scripted([startEvent(), ...texts.map(delta), finish]);
      const frames = (await textOf(await ask(parts, complete({ prompt: '', stream: true }))))
        .split('\n\n')
        .slice(0, -1);
      const pieces = frames.map((frame) => JSON.parse(frame.slice('data: '.length)));
      const whole = (await jsonOf(await ask(parts, complete({ prompt: '' })))) as Record<string, unknown>;
      expect(pieces.map(({ content }) => content).join('')).toBe(whole.content);
      const { generation_settings: streamed, ...last } = pieces.at(-1);
      const { generation_settings: settings, ...rest } = whole;
      expect({ ...last, content: whole.content }).toEqual(rest);
      expect({ ...streamed, stream: false }).toEqual(settings);
    }),
    { numRuns: 30 },
  );
});

test.each([
  [finishEvent({ reason: 'length', cause: 'limit' }), 'limit', ''],
  [finishEvent({ cause: 'stop-text', stopText: 'END' }), 'word', 'END'],
  [finishEvent({ reason: 'aborted', cause: 'aborted' }), 'none', ''],
])('completion: %o is returned as %s', async (end, type, word) => {
  const { parts } = scripted([startEvent(), end]);
  expect(await jsonOf(await ask(parts, complete({ prompt: '' })))).toMatchObject({
    stop_type: type,
    stopping_word: word,
  });
});

test('completion: a list of prompts gives a list of replies in order', async () => {
  const { parts, asked } = scripted(script);
  expect(await jsonOf(await ask(parts, complete({ prompt: ['a', 'b'] })))).toMatchObject([
    { index: 0, prompt: 'a' },
    { index: 1, prompt: 'b' },
  ]);
  expect(asked.map(({ request }) => request.prompt)).toEqual(['a', 'b']);
});

test('n_cmpl: several replies to a prompt stream with their index', async () => {
  const { parts } = scripted([startEvent(), delta('x'), finish]);
  const body = { prompt: 'a', n_cmpl: 2, stream: true, response_fields: ['index', 'stop'] };
  expect(await textOf(await ask(parts, complete(body)))).toBe(
    [
      'data: {"index":0,"content":"x","tokens":[],"stop":false,"id_slot":0,"tokens_predicted":1,"tokens_evaluated":7}',
      'data: {"index":0,"stop":true}',
      'data: {"index":1,"content":"x","tokens":[],"stop":false,"id_slot":0,"tokens_predicted":1,"tokens_evaluated":7}',
      'data: {"index":1,"stop":true}',
      '',
    ].join('\n\n'),
  );
});

const choice = (text: string, token: number, logprob: number) => ({
  text,
  token,
  bytes: [...Buffer.from(text)],
  logprob,
});
const logprob: TokenLogprob = { ...choice('Hi', 5, Math.log(0.5)), top: [choice('Hi', 5, Math.log(0.5))] };
const withTokens: GenerationEvent[] = [
  startEvent(),
  { ...delta('Hi'), logprobs: [logprob] } as GenerationEvent,
  finish,
];

test('n_probs: other names with post_sampling_probs', async () => {
  const { parts, asked } = scripted(withTokens);
  expect(await jsonOf(await ask(parts, complete({ prompt: '', n_probs: 1 })))).toMatchObject({
    tokens: [],
    completion_probabilities: [
      {
        id: 5,
        token: 'Hi',
        bytes: [72, 105],
        logprob: Math.log(0.5),
        top_logprobs: [{ id: 5, token: 'Hi', bytes: [72, 105], logprob: Math.log(0.5) }],
      },
    ],
  });
  expect(asked[0]?.request.logprobs).toBe(1);
  expect(await jsonOf(await ask(parts, complete({ prompt: '', n_probs: 1, post_sampling_probs: true })))).toMatchObject(
    {
      completion_probabilities: [{ id: 5, prob: 0.5, top_probs: [{ prob: 0.5 }] }],
    },
  );
});

test('n_probs: every predicted token has its figures, also the end token', async () => {
  const end: TokenLogprob = { ...choice('</s>', 2, -1), top: [] };
  const ended = [...withTokens.slice(0, -1), { ...delta(''), logprobs: [end] } as GenerationEvent, finish];
  const body = { prompt: '', n_probs: 1, return_tokens: true };
  expect(await jsonOf(await ask(scripted(ended).parts, complete(body)))).toMatchObject({
    tokens: [5, 2],
    completion_probabilities: [{ id: 5 }, { id: 2, token: '</s>' }],
  });
});

test('return_tokens: returns token numbers', async () => {
  const { parts, asked } = scripted(withTokens);
  const whole = (await jsonOf(await ask(parts, complete({ prompt: '', return_tokens: true })))) as object;
  expect(whole).toMatchObject({ tokens: [5] });
  expect(whole).not.toHaveProperty('completion_probabilities');
  expect(asked[0]?.request.logprobs).toBe(0);
  expect(await textOf(await ask(parts, complete({ prompt: '', return_tokens: true, stream: true })))).toContain(
    '"tokens":[5]',
  );
});

test('n_predict: 0 only evaluates the prompt', async () => {
  const usage = { promptTokens: 7, cachedTokens: 3, completionTokens: 0 };
  const timings = { initMs: 0, promptMs: 4, generationMs: 0, processedTokens: 4 };
  const { parts, asked } = scripted([startEvent(), finishEvent({ reason: 'length', cause: 'limit', usage, timings })]);
  expect(await jsonOf(await ask(parts, complete({ prompt: 'warm', n_predict: 0 })))).toMatchObject({
    content: '',
    tokens_predicted: 0,
    has_new_line: false,
    stop_type: 'limit',
    tokens_cached: 7,
    timings: { predicted_n: 0, predicted_ms: 0, prompt_n: 4 },
  });
  expect(asked[0]?.request.maxTokens).toBe(0);
});

test('return_progress and timings_per_token: reported in the stream', async () => {
  const { parts } = scripted([startEvent(), { type: 'prompt-progress', done: 2, total: 4 }, delta('x'), finish]);
  const body = { prompt: '', stream: true, return_progress: true, timings_per_token: true, response_fields: ['stop'] };
  const frames = (await textOf(await ask(parts, complete(body)))).split('\n\n');
  const pieces = frames.slice(0, 4).map((frame) => JSON.parse(frame.slice(6)));
  expect(pieces).toMatchObject([
    { content: '', tokens_predicted: 0, prompt_progress: { total: 7, cache: 3, processed: 3, time_ms: 0 } },
    { content: '', prompt_progress: { total: 7, cache: 3, processed: 5, time_ms: 0 } },
    { content: '', prompt_progress: { total: 7, cache: 3, processed: 7, time_ms: 0 } },
    { content: 'x', timings: { predicted_n: 1 } },
  ]);
});

test('completion: an early error keeps its status, a late one is in the stream', async () => {
  const error = new AppError('engine-lost', { capability: 'text' });
  const early = await ask(scripted([{ type: 'error', error }]).parts, complete({ prompt: '', stream: true }));
  expect(early.status).toBe(500);
  const late = scripted([startEvent(), delta('x'), { type: 'error', error }]).parts;
  const frames = (await textOf(await ask(late, complete({ prompt: ['a', 'b'], stream: true })))).split('\n\n');
  expect(frames.slice(1)).toEqual([
    `data: {"error":{"code":500,"message":${JSON.stringify(error.message)},"type":"server_error"}}`,
    '',
  ]);
  const whole = await ask(late, complete({ prompt: 'a' }));
  expect([whole.status, await jsonOf(whole)]).toEqual([
    500,
    { error: { code: 500, message: error.message, type: 'server_error' } },
  ]);
});

test('completion: after an error the other prompts are not generated', async () => {
  const error = new AppError('engine-lost', { capability: 'text' });
  const { parts, asked } = scripted([{ type: 'error', error }]);
  expect((await ask(parts, complete({ prompt: ['a', 'b', 'c'] }))).status).toBe(500);
  expect(asked[0]?.requestContext.signal.aborted).toBe(true);
});

test('completion: a trimmed prompt and ignored fields are in the body and headers', async () => {
  const { parts } = scripted([startEvent({ droppedTokens: 12 }), finish], {
    controlLimits: () => ({ ...controlLimits, overflow: 'trim' }),
  });
  const reply = await ask(parts, complete({ prompt: 'x', cache_prompt: true, id_slot: 1 }));
  expect(reply.headers).toMatchObject({ 'x-parley-dropped-tokens': '12', 'x-parley-ignored': 'id_slot' });
  expect(await jsonOf(reply)).toMatchObject({ truncated: true });
});

test('completion: warnings of the engine are in the body', async () => {
  const { parts } = scripted([startEvent(), { type: 'warning', code: 'x', text: 'Mind the gap.' }, finish]);
  expect(await jsonOf(await ask(parts, complete({ prompt: '' })))).toMatchObject({ warnings: ['Mind the gap.'] });
});

test('logit_bias: by token number and by text', async () => {
  const { parts, asked } = scripted(script);
  const logit_bias = [
    [5, -2],
    ['ab', 1],
    ['c', false],
  ];
  await ask(parts, complete({ prompt: '', logit_bias }));
  await ask(parts, complete({ prompt: '', logit_bias: { '5': -2, z: false } }));
  expect(asked.map(({ request }) => [request.logitBias, request.bannedTokens])).toEqual([
    [
      [
        [5, -2],
        [97, 1],
        [98, 1],
      ],
      [99],
    ],
    [[[5, -2]], [122]],
  ]);
});

test('n_indent: ends the text and stops the generation', async () => {
  const { parts, asked } = scripted(() =>
    play([startEvent(), delta('if x:\n  a\n'), delta('b = 1'), delta('c'), finish]),
  );
  expect(await jsonOf(await ask(parts, complete({ prompt: '', n_indent: 2 })))).toMatchObject({
    content: 'if x:\n  a\n',
    stop_type: 'limit',
  });
  expect(asked[0]?.requestContext.signal.aborted).toBe(true);
});

test('t_max_predict_ms: ends the text after a whole line', async () => {
  let time = 0;
  const { parts } = scripted([startEvent(), delta('a'), delta('b'), delta('\n'), delta('c'), finish], {
    now: () => (time += 60),
  });
  expect(await jsonOf(await ask(parts, complete({ prompt: '', t_max_predict_ms: 100 })))).toMatchObject({
    content: 'ab\n',
    stop_type: 'limit',
  });
});

test.each<[object, string]>([
  [{}, 'prompt must be a text, or an array of texts and token numbers.'],
  [{ prompt: [] }, 'prompt must be something: the list is empty.'],
  [{ prompt: [{}] }, 'prompt_string must be a text, or an array of texts and token numbers.'],
  [{ prompt: 'x', n_predict: 'many' }, 'n_predict must be a number.'],
  [{ prompt: 'x', temperature: 'hot' }, 'temperature must be a number.'],
  [{ prompt: 'x', samplers: [1] }, 'samplers must be an array of names, or a text of letters.'],
  [{ prompt: 'x', n_cmpl: 0 }, 'n_cmpl must be a number from 1 to 32.'],
  [{ prompt: 'x', response_fields: 'content' }, 'response_fields must be an array of strings.'],
  [{ prompt: 'x', json_schema: {}, grammar: 'root ::= "a"' }, 'json_schema must be absent where there is a grammar.'],
  [
    { prompt: 'x', grammar: 'root ::= "a"', grammar_lazy: true },
    'grammar_triggers must be given where grammar_lazy is on.',
  ],
  [
    { prompt: 'x', logit_bias: new Array(10_001).fill([1, 1]) },
    'logit_bias must be at most 10000 pairs, 512 of them with a text.',
  ],
  [
    { prompt: 'x', logit_bias: new Array(513).fill(['a', 1]) },
    'logit_bias must be at most 10000 pairs, 512 of them with a text.',
  ],
  [
    { prompt: 'x', logit_bias: [['a'.repeat(50_001), 1]] },
    'logit_bias must be at most 50000 characters, all texts together; these are 50001.',
  ],
  [{ prompt: 'x', logit_bias: [[1]] }, 'logit_bias must be pairs of a token number or a text with a number or false.'],
])('completion: refuses %j: %s', async (body, message) => {
  const reply = await ask(scripted(script).parts, complete(body));
  expect([reply.status, await jsonOf(reply)]).toEqual([
    400,
    { error: { code: 400, message, type: 'invalid_request_error' } },
  ]);
});

test.each<[object, string]>([
  [{ prompt: { prompt_string: 'x', multimodal_data: ['aaaa'] } }, 'Image input (multimodal_data[0])'],
  [{ prompt: ['x', 'y'], n_indent: 4 }, 'n_indent for several replies'],
])('completion: refuses %j as unsupported', async (body, message) => {
  const reply = await ask(scripted(script).parts, complete(body));
  expect(reply.status).toBe(400);
  expect(await textOf(reply)).toContain(message);
});

test('multimodal_data: media go with the prompt that has their markers', async () => {
  const { text, asked } = scriptedText(script, { state: () => seeing() });
  const prompt = [{ prompt_string: 'See <__media__>', multimodal_data: ['AAAA'] }, 'Say'];
  expect((await ask(llamacppParts({ text }), complete({ prompt }))).status).toBe(200);
  expect(asked.map(({ request }) => [request.prompt, request.media])).toEqual([
    ['See (Attached Image 1)', [{ kind: 'image', base64: 'AAAA' }]],
    ['Say', []],
  ]);
});

test('n_cmpl: each reply has its own seed under a fixed seed', async () => {
  const { parts, asked } = scripted(script);
  await ask(parts, complete({ prompt: 'Say', n_cmpl: 3, seed: 7 }));
  expect(asked.map(({ request }) => request.sampling.seed)).toEqual([7, 8, 9]);
});

test.each<[string, number, number | undefined]>([
  ['a\nb', 0, undefined],
  ['a\nb', 1, 2],
  ['a\n  b', 2, undefined],
  ['a\n  b\n c', 2, 6],
  ['a\n\tb', 1, undefined],
  ['a\n ', 4, undefined],
  ['a\n\n  b', 2, 2],
  ['abc', 4, undefined],
])('lineTooShallow: in %j with an indent of %i the text ends at %s', (text, least, end) => {
  expect(lineTooShallow(text, least)).toBe(end);
});

const token = (number: number) => ({ token: number, text: '', logprob: 0, bytes: [], top: [] });

test('recordOf: the sum of the events', async () => {
  const record = await recordOf(
    play([
      startEvent({ droppedTokens: 2, seed: 9 }),
      { type: 'reasoning-delta', text: 'Hm\n', logprobs: [token(1), token(2)] },
      { type: 'text-delta', text: 'Hello', logprobs: [token(3)] },
      { type: 'warning', code: 'x', text: 'careful' },
      finishEvent(),
    ]),
  );
  expect(record).toMatchObject({
    text: 'Hm\nHello',
    probabilities: [{ token: 1 }, { token: 2 }, { token: 3 }],
    warnings: ['careful'],
    promptTokens: 7,
    cachedTokens: 3,
    start: { droppedTokens: 2, seed: 9 },
    predicted: 5,
    newLine: true,
    finish: { type: 'finish', cause: 'end-token' },
  });
});

test('CompletionRecord: counts tokens by logprobs, or by pieces', () => {
  const record = new CompletionRecord(false);
  record.add({ type: 'text-delta', text: 'a' });
  record.add({ type: 'text-delta', text: 'bc', logprobs: [token(1), token(2)] });
  expect(record).toMatchObject({ predicted: 3, text: '', probabilities: [], newLine: false });
});

test('recordOf: throws the error of the generation', async () => {
  const error = new AppError('engine-lost', { capability: 'text' });
  await expect(recordOf(play([startEvent(), { type: 'error', error }]))).rejects.toBe(error);
});

test('recordOf: an aborted generation has no finish', async () => {
  expect((await recordOf(play([startEvent()]))).finish).toBeUndefined();
});

test('recordOf: ignores tool calls', async () => {
  const events: GenerationEvent[] = [
    { type: 'tool-start', index: 0, id: 'c', name: 'f' },
    { type: 'tool-delta', index: 0, json: '{}' },
    { type: 'tool-end', index: 0 },
    finishEvent(),
  ];
  expect(await recordOf(play(events))).toMatchObject({ text: '', finish: { type: 'finish' } });
});
