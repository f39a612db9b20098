import { expect, test } from 'vitest';
import { callOf, finishEvent, readyState, scriptedText, seeing, startEvent } from '../testing/doubles.ts';
import { jsonOf } from '../testing/reply-text.ts';
import { decodePrompts, promptText, readPieces } from './prompts.ts';
import { ask, llamacppParts } from './testing/world.ts';

const png = 'iVBORw0KGgo=';
const pieces = (value: unknown) => decodePrompts(value, readyState()).map((prompt) => prompt.pieces);

test.each([
  ['Hi', [['Hi']]],
  [[1, 2], [[1, 2]]],
  [['a', 1, 'b'], [['a', 1, 'b']]],
  [
    ['a', 'b'],
    [['a'], ['b']],
  ],
  [
    ['a', [1, 2]],
    [['a'], [1, 2]],
  ],
  [
    [[1], ['a', 2]],
    [[1], ['a', 2]],
  ],
  [{ prompt_string: 'Hi' }, [['Hi']]],
  [
    ['a', { prompt_string: 'Hi' }],
    [['a'], ['Hi']],
  ],
])('decodePrompts: %j gives %j', (value, expected) => {
  expect(pieces(value)).toEqual(expected);
});

test.each([
  [undefined],
  [null],
  [5],
  [true],
  [[]],
  [[true]],
  [[1, null]],
  [[-1]],
  [[1.5]],
  [{}],
  [{ prompt_string: 5 }],
])('decodePrompts: refuses %j', (value) => {
  expect(() => pieces(value)).toThrow(/must be/);
});

test('readPieces: names the field in errors', () => {
  expect(readPieces(['a', 5], 'content')).toEqual(['a', 5]);
  expect(() => readPieces({}, 'content')).toThrow('content must be a text, or an array of texts and token numbers.');
});

test('promptText: tokens become text, without the first token of the model', async () => {
  const { text } = scriptedText([]);
  expect(await promptText(['Hi'], text)).toBe('Hi');
  expect(await promptText([72, 105], text)).toBe('Hi');
  expect(await promptText([1, 72, 105], text)).toBe('Hi');
  expect(await promptText([72, 1], text)).toBe('H\u0001');
  expect(await promptText(['a', 72, 105, 'b', 72], text)).toBe('aHibH');
});

test('promptText: detokenizes neighbouring tokens together', async () => {
  const asked: (readonly number[])[] = [];
  const { text } = scriptedText([], {
    detokenize: async (tokens) => {
      asked.push(tokens);
      return '?';
    },
  });
  await promptText([5, 6, 'x', 7], text);
  expect(asked).toEqual([[5, 6], [7]]);
});

test('decodePrompts: each marker is for one medium', () => {
  const prompt = { prompt_string: 'See <__media__>.', multimodal_data: [png] };
  const [decoded] = decodePrompts(prompt, seeing());
  expect(decoded?.media).toMatchObject([{ kind: 'image', base64: png }]);
  expect(decoded?.pieces.join('')).not.toContain('<__media__>');
  for (const prompt_string of ['none', 'two <__media__> <__media__>']) {
    expect(() => decodePrompts({ ...prompt, prompt_string }, seeing())).toThrow('once for each of the 1 media');
  }
  expect(() => decodePrompts(prompt, readyState())).toThrow('--mmproj');
  expect(() => decodePrompts({ ...prompt, multimodal_data: png }, seeing())).toThrow('an array of base64 strings');
});

/** A test double: a vocabulary that knows these marks, and reads every other character as a token. */
function vocabulary(marks: readonly string[], contextSize = 4096) {
  const { text, asked } = scriptedText([startEvent(), { type: 'text-delta', text: 'x' }, finishEvent()], {
    tokenize: async (words) =>
      marks.includes(words) ? [100_000 + marks.indexOf(words)] : Array.from(words, (each) => each.codePointAt(0) ?? 0),
    contextSize: () => contextSize,
  });
  return { parts: llamacppParts({ text }), asked };
}

const triple = ['<fim_prefix>', '<fim_suffix>', '<fim_middle>'];
const infill = (body: object) => callOf('/infill', body);

test('infill: uses the marks of the model', async () => {
  const { parts, asked } = vocabulary(triple);
  const body = { input_prefix: 'a(', input_suffix: ')', prompt: 'b', n_predict: 4 };
  expect(await jsonOf(await ask(parts, infill(body)))).toMatchObject({ content: 'x', stop: true });
  expect(asked[0]?.request).toMatchObject({ prompt: '<fim_prefix>a(<fim_suffix>)<fim_middle>b', maxTokens: 4 });
});

test('infill: extra files come first, with names if the model has a mark for them', async () => {
  const input_extra = [{ filename: 'a.py', text: 'A' }, { text: 'B' }];
  const body = { input_prefix: 'p', input_suffix: 's', input_extra };
  const plain = vocabulary(triple);
  await ask(plain.parts, infill(body));
  expect(plain.asked[0]?.request.prompt).toBe(
    '\n\n--- snippet ---\n\nA\n\n--- snippet ---\n\nB<fim_prefix>p<fim_suffix>s<fim_middle>',
  );
  const marked = vocabulary([...triple, '<repo_name>', '<file_sep>']);
  await ask(marked.parts, infill({ ...body, n_predict: 8 }));
  expect(marked.asked[0]?.request.prompt).toBe(
    '<repo_name>myproject\n<file_sep>a.py\nA\n<file_sep>tmp\nB\n<file_sep>filename\n<fim_prefix>p<fim_suffix>s<fim_middle>',
  );
});

test('infill: cuts the code to what is near the gap', async () => {
  const { parts, asked } = vocabulary(triple, 32);
  await ask(parts, infill({ input_prefix: 'abcdefghijklmnopqrst', input_suffix: '0123456789', n_predict: 4 }));
  expect(asked[0]?.request.prompt).toBe('<fim_prefix>ijklmnopqrst<fim_suffix>0123<fim_middle>');
});

test('infill: refuses a model without marks, and names them', async () => {
  const reply = await ask(vocabulary(['<fim_prefix>']).parts, infill({}));
  expect([reply.status, await jsonOf(reply)]).toEqual([
    501,
    {
      error: {
        code: 501,
        message: 'Infill is not possible with this model: its vocabulary lacks a suffix token, a middle token.',
        type: 'not_supported_error',
      },
    },
  ]);
});

test('infill: refuses without a model', async () => {
  const { text } = scriptedText([], { state: () => ({ type: 'none' }), tokenize: async () => [] });
  expect((await ask(llamacppParts({ text }), infill({}))).status).toBe(503);
});

test.each<[object, string]>([
  [{ input_suffix: 's' }, 'input_prefix must be a string.'],
  [{ input_prefix: 'p' }, 'input_suffix must be a string.'],
  [{ input_prefix: 'p', input_suffix: 's', prompt: 5 }, 'prompt must be a string.'],
  [
    { input_prefix: 'p', input_suffix: 's', input_extra: ['x'] },
    'input_extra must be an array of {"filename", "text"}.',
  ],
  [
    { input_prefix: 'p', input_suffix: 's', input_extra: [{ text: 'x', filename: 1 }] },
    'input_extra must be an array of {"filename", "text"}.',
  ],
])('infill: refuses %j: %s', async (body, message) => {
  const reply = await ask(vocabulary(triple).parts, infill(body));
  expect([reply.status, await jsonOf(reply)]).toMatchObject([400, { error: { message } }]);
});

test('infill: accepts other fields of editors', async () => {
  const { parts } = vocabulary(triple);
  const body = { input_prefix: '', input_suffix: '', samplers: ['top_k', 'top_p', 'infill'], t_max_prompt_ms: 1 };
  expect((await ask(parts, infill({ ...body, n_predict: 1, t_max_predict_ms: 1, cache_prompt: true }))).status).toBe(
    200,
  );
});
