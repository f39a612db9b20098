import { expect, test } from 'vitest';
import type { ChatRequest } from '../../chat/request.ts';
import type { JsonObject } from '../../http/body.ts';
import { router } from '../../http/router.ts';
import type { ChatReader } from '../dialect.ts';
import { bindAll } from '../testing/bind.ts';
import { callOf, controlLimits, dialectParts, scriptedChat, scriptedText } from '../testing/doubles.ts';
import { tokenEndpoints } from './tokens.ts';

async function ask(path: string, body: unknown, own: Partial<ChatReader> = {}) {
  const readChat = async (sent: JsonObject) => sent as unknown as ChatRequest;
  const parts: ChatReader = { ...dialectParts(), readChat, ...own };
  const endpoint = router(bindAll(tokenEndpoints, parts)).find('POST', path);
  const reply = await endpoint?.handle(callOf(path, body));
  if (!reply || !('body' in reply)) throw new Error('no reply');
  return [reply.status, JSON.parse(String(reply.body))];
}

test.each(['/api/extra/tokencount', '/api/extra/tokenize'])('%s: counts the tokens of a text', async (path) => {
  expect(await ask(path, { prompt: 'Hi' })).toEqual([200, { value: 3, ids: [1, 72, 105], prompt: 'Hi' }]);
  expect(await ask(path, { prompt: 'Hi', special: false })).toEqual([200, { value: 2, ids: [72, 105], prompt: 'Hi' }]);
  expect(await ask(path, {})).toEqual([200, { value: 1, ids: [1], prompt: '' }]);
});

test.each(['', '{', '[]', { prompt: 5 }, { prompt: 'x', special: 'maybe' }])(
  'tokencount: %j gives -1',
  async (body) => {
    expect(await ask('/api/extra/tokencount', body)).toEqual([400, { value: -1 }]);
  },
);

test('tokencount: counts a chat as its prompt, unless there is a prompt', async () => {
  const { chat } = scriptedChat([], {
    render: async (request) => {
      const { messages } = request as unknown as { readonly messages: readonly unknown[] };
      return { by: 'adapter', memory: `${messages.length} `, prompt: 'turns', stop: [], warnings: [] };
    },
  });
  const messages = [{ role: 'user', content: 'Hi' }];
  const [status, body] = await ask('/api/extra/tokencount', { messages }, { chat });
  expect([status, body.prompt, body.value]).toEqual([200, '1 turns', 8]);
  expect((await ask('/api/extra/tokencount', { messages, prompt: 'x' }, { chat }))[1].prompt).toBe('x');
});

test('detokenize: returns the text', async () => {
  expect(await ask('/api/extra/detokenize', { ids: [72, 105] })).toEqual([200, { result: 'Hi', success: true }]);
  expect(await ask('/api/extra/detokenize', {})).toEqual([200, { result: '', success: true }]);
});

test.each([
  '{',
  { ids: 'x' },
  { ids: [1.5] },
  { ids: [-1] },
  { ids: [2 ** 31] },
  { ids: ['1'] },
  { ids: Array(65_536).fill(1) },
])('detokenize: refuses other values', async (body) => {
  expect(await ask('/api/extra/detokenize', body)).toEqual([400, { result: '', success: false }]);
});

test('json_to_grammar: the schema is in its field, or is the body', async () => {
  const seen: unknown[] = [];
  const grammarOf = (schema: unknown) => {
    seen.push(schema);
    return 'root ::= "a"';
  };
  const path = '/api/extra/json_to_grammar';
  expect(
    await ask(path, { schema: { a: 1 } }, { controlLimits: () => ({ ...controlLimits, schemaToGrammar: grammarOf }) }),
  ).toEqual([200, { result: 'root ::= "a"', success: true }]);
  await ask(path, { type: 'object' }, { controlLimits: () => ({ ...controlLimits, schemaToGrammar: grammarOf }) });
  expect(seen).toEqual([{ a: 1 }, { type: 'object' }]);
  expect(await ask(path, '{', { controlLimits: () => ({ ...controlLimits, schemaToGrammar: grammarOf }) })).toEqual([
    400,
    { result: '', success: false },
  ]);
});

test.each([['[]'], ['"text"'], [`${'{"items":'.repeat(200)}{}${'}'.repeat(200)}`]])(
  'json_to_grammar: JSON that is no schema to convert is 200 without success',
  async (body) => {
    const grammarOf = () => 'root ::= "a"';
    expect(
      await ask('/api/extra/json_to_grammar', body, {
        controlLimits: () => ({ ...controlLimits, schemaToGrammar: grammarOf }),
      }),
    ).toEqual([200, { result: '', success: false, error: expect.stringContaining('schema must be') }]);
  },
);

test('tokencount: fails without a model', async () => {
  const { text } = scriptedText([], { tokenize: async () => [], detokenize: async () => '' });
  expect(await ask('/api/extra/tokencount', { prompt: 'Hi' }, { text })).toEqual([
    200,
    { value: 0, ids: [], prompt: 'Hi' },
  ]);
});
