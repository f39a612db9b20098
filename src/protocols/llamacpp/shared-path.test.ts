import { expect, test } from 'vitest';
import { AppError } from '../../core/errors.ts';
import { json } from '../../http/call.ts';
import type { PlainEndpoint } from '../endpoint.ts';
import { callOf } from '../testing/doubles.ts';
import { jsonOf } from '../testing/reply-text.ts';
import { answeringBoth, llamacppEndpoints } from './routes.ts';
import { llamacppParts } from './testing/world.ts';

const endpoint = (path: string, own: Partial<PlainEndpoint>): PlainEndpoint => ({
  method: 'POST',
  match: 'exact',
  path,
  access: 'guarded',
  queued: true,
  summary: 'Continue texts.',
  dialect: { name: 'taskServices', title: '', errorReply: ({ status }) => json('their failure', status) },
  handle: () => json(path),
  ...own,
});

/** The row of the llama.cpp server, with another handler. */
function ownRow(path: string): PlainEndpoint {
  const row = llamacppEndpoints(llamacppParts()).find((one) => one.path === path);
  return endpoint(path, { ...row, summary: '', handle: () => json(path) });
}

const others = endpoint('/completions', {});
const ours = ownRow('/completion');
const both = answeringBoth(others, ours);
const ask = async (body: unknown) => jsonOf(await both.handle(callOf('/completions', body), undefined));

test.each([{ n_predict: 5 }, { cache_prompt: false }, { id_slot: 0 }, { n_probs: 2 }, { return_tokens: true }])(
  'answeringBoth: %j is a request of the llama.cpp server',
  async (body) => {
    expect(await ask({ prompt: 'x', ...body })).toBe('/completion');
  },
);

test.each([
  {},
  { max_tokens: 5 },
  { n_predict: 5, model: 'm' },
  { n_predict: 5, max_tokens: 5 },
  { n_predict: null },
  { prompt: '"n_predict"' },
])('answeringBoth: %j is not', async (body) => {
  expect(await ask({ prompt: 'x', ...body })).toBe('/completions');
});

test.each(['', '{"n_predict"', '["n_predict"]'])(
  'answeringBoth: an invalid body (%j) goes to the other dialect',
  async (body) => {
    expect(await ask(body)).toBe('/completions');
  },
);

test('answeringBoth: errors have the form of the dialect of the request', async () => {
  const failing = answeringBoth(others, {
    ...ours,
    handle: () => {
      throw new AppError('invalid-field', { field: 'prompt', expected: 'a text' });
    },
  });
  const reply = await failing.handle(callOf('/completions', { n_predict: 5 }), undefined);
  expect(reply.status).toBe(400);
  expect(await jsonOf(reply)).toEqual({
    error: { code: 400, message: 'prompt must be a text.', type: 'invalid_request_error' },
  });
});

test('answeringBoth: unexpected errors are thrown', async () => {
  const broken = answeringBoth(others, { ...ours, handle: () => Promise.reject(new Error('a bug')) });
  await expect(broken.handle(callOf('/completions', { n_predict: 5 }), undefined)).rejects.toThrow('a bug');
});

test('answeringBoth: the summary names both', () => {
  expect(both).toMatchObject({
    path: '/completions',
    summary: 'Continue texts. With the fields of the llama.cpp server it is another name for /completion.',
  });
});

test.each([
  [{ content: 'a' }, '/embedding'],
  [{ content: ['a'], embd_normalize: -1 }, '/embedding'],
  [{ content: 'a', model: 'm' }, '/embedding'],
  [{ input: 'a' }, '/embeddings'],
  [{ input: 'a', content: 'b' }, '/embeddings'],
  [{ content: 'a', encoding_format: 'float' }, '/embeddings'],
  [{ content: null, input: 'a' }, '/embeddings'],
  [{}, '/embeddings'],
])('answeringBoth: embeddings with %j are those of %s', async (body, path) => {
  const shared = answeringBoth(endpoint('/embeddings', {}), ownRow('/embedding'));
  expect(await jsonOf(await shared.handle(callOf('/embeddings', body), undefined))).toBe(path);
});
