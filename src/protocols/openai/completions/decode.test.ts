import { expect, test } from 'vitest';
import { dialectParts } from '../../testing/doubles.ts';
import { type DecodedCompletion, decodeCompletion } from './decode.ts';

const parts = {
  ...dialectParts(),
  replacePlaceholders: <Texts extends { readonly prompt: string }>(texts: Texts) => ({
    ...texts,
    prompt: texts.prompt.replace('{{[INPUT]}}', '### '),
  }),
};
const decode = (body: object) => decodeCompletion({ prompt: 'Once', ...body }, parts);

/** In the test double a token is the number of its character, and 1 begins a text. */
test.each<[string, unknown, readonly string[]]>([
  ['a text', 'Once', ['Once']],
  ['several texts', ['a', 'b'], ['a', 'b']],
  ['an empty text', '', ['']],
  ['null, an empty document', null, ['']],
  ['tokens', [72, 105], ['Hi']],
  ['several lists of tokens', [[72], [105]], ['H', 'i']],
  ['both kinds', [[72], 'x'], ['H', 'x']],
  ['tokens that begin a text', [1, 72, 105], ['\u0001Hi']],
  ['placeholders', '{{[INPUT]}}Hi', ['### Hi']],
])('decodeCompletion: prompt as %s', async (_, prompt, expected) => {
  expect((await decode({ prompt })).requests.map((request) => request.prompt)).toEqual(expected);
});

test('decodeCompletion: keeps placeholders with replace_instruct_placeholders false', async () => {
  const { requests } = await decode({ prompt: '{{[INPUT]}}Hi', replace_instruct_placeholders: false });
  expect(requests[0]?.prompt).toBe('{{[INPUT]}}Hi');
});

test.each<[object, Partial<DecodedCompletion>]>([
  [{}, { replies: 1, candidates: 1, logprobs: undefined, echoes: [''], countOnly: false, stream: false }],
  [{ n: 2 }, { replies: 2, candidates: 2 }],
  [
    { n: 2, best_of: 4 },
    { replies: 2, candidates: 4 },
  ],
  [
    { n: 2, best_of: 1 },
    { replies: 2, candidates: 2 },
  ],
  [{ echo: true }, { echoes: ['Once'], countOnly: false }],
  [{ echo: true, max_tokens: 0 }, { countOnly: true }],
  [{ logprobs: 0 }, { logprobs: 0 }],
  [{ logprobs: false }, { logprobs: undefined }],
  [
    { stream: true, n: 2, best_of: 2, stream_options: { include_usage: true } },
    { stream: true, includeUsage: true },
  ],
])('%o', async (body, expected) => {
  expect(await decode(body)).toMatchObject(expected);
});

test.each<[object, number | undefined]>([
  [{}, undefined],
  [{ logprobs: 0 }, 0],
  [{ logprobs: 3 }, 3],
  [{ logprobs: 99 }, 20],
  [{ logprobs: true }, 5],
  [{ best_of: 3 }, 0],
])('logprobs %o: %s alternatives', async (body, expected) => {
  expect((await decode(body)).requests[0]?.logprobs).toBe(expected);
});

test('decodeCompletion: applies native controls, trims stop texts, refuses overflow', async () => {
  const { requests } = await decode({ min_p: 0.1, memory: 'M', stop: 'x', trim_stop: false, max_tokens: 9 });
  expect(requests[0]).toMatchObject({ memory: 'M', stop: ['x'], trimStop: true, maxTokens: 9, overflow: 'refuse' });
  expect(requests[0]?.sampling.minP).toBe(0.1);
});

test.each<[object, string]>([
  [{ prompt: undefined }, 'prompt must be a string'],
  [{ prompt: 5 }, 'prompt must be a string'],
  [{ prompt: [] }, 'prompt must be a string'],
  [{ prompt: [[]] }, 'prompt must be a string'],
  [{ prompt: [1, 'x'] }, 'prompt must be a string'],
  [{ prompt: [32_000] }, 'prompt must be made of token numbers of this model, which are whole and below 32000.'],
  [{ prompt: [1.5] }, 'prompt must be made of token numbers'],
  [{ prompt: Array.from({ length: 129 }, () => 'x') }, 'prompt must be an array of at most 128 prompts.'],
  [{ suffix: 'end' }, 'suffix is not possible'],
  [{ n: 3, best_of: 2 }, 'best_of must be at least as large as n.'],
  [{ best_of: 2, stream: true }, 'best_of must be left out of streams'],
  [{ logprobs: -1 }, 'logprobs must be a whole number that is not negative.'],
  [{ logprobs: 'x' }, 'logprobs must be a number.'],
  [{ echo: 'yes' }, 'echo must be true or false.'],
])('decodeCompletion: rejects %o', async (body, sentence) => {
  await expect(decode(body)).rejects.toThrow(sentence);
});

test('decodeCompletion: passes tokens on unchanged', async () => {
  const { requests } = await decode({ prompt: [[1, 72], 'x', [105]] });
  expect(requests.map(({ promptTokens }) => promptTokens)).toEqual([[1, 72], undefined, [105]]);
});

test('decodeCompletion: replaces no placeholders in prompts of tokens', async () => {
  const marked = [...'{{[INPUT]}}'].map((character) => character.codePointAt(0));
  const { requests } = await decode({ prompt: marked });
  expect(requests[0]?.prompt).toBe('{{[INPUT]}}');
});

test.each<[object, number | undefined]>([
  [{}, undefined],
  [{ echo: true }, undefined],
  [{ logprobs: 3 }, undefined],
  [{ echo: true, logprobs: 3 }, 3],
  [{ echo: true, logprobs: 0, stream: true }, 0],
  [{ prompt_logprobs: 2 }, 2],
  [{ echo: true, logprobs: 1, prompt_logprobs: 4 }, 4],
  [{ echo: true, logprobs: 5, prompt_logprobs: 4 }, 5],
])('%o: prompt logprobs with %o alternatives', async (body, expected) => {
  const { requests } = await decode(body);
  expect(requests[0]?.promptLogprobs).toBe(expected);
});

test.each<[object, number | 'default', boolean]>([
  [{ max_tokens: 0 }, 0, true],
  [{ max_completion_tokens: 0 }, 0, true],
  [{ n_predict: 0 }, 0, true],
  [{ max_completion_tokens: 0, max_tokens: 9 }, 0, true],
  [{ max_tokens: 0, echo: true }, 0, true],
  [{ max_tokens: 0, echo: true, logprobs: 0 }, 0, false],
  [{ max_tokens: 0, prompt_logprobs: 0 }, 0, false],
  [{ max_tokens: -1 }, 'default', false],
  [{}, 'default', false],
  [{ max_tokens: 1, echo: true, logprobs: 1 }, 1, false],
])('%o: maxTokens %o, countOnly %o', async (body, length, countOnly) => {
  const question = await decode(body);
  const expected = length === 'default' ? (await decode({})).requests[0]?.maxTokens : length;
  expect([question.requests[0]?.maxTokens, question.countOnly]).toEqual([expected, countOnly]);
});

test('echo with logprobs: is the text that the model read', async () => {
  const prompt = '{{[INPUT]}}Hi';
  expect((await decode({ prompt, echo: true })).echoes).toEqual([prompt]);
  expect((await decode({ prompt, echo: true, logprobs: 0 })).echoes).toEqual(['### Hi']);
});
