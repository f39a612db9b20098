import { copyFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { untrainedModel, untrainedServers } from './server.ts';

const startServer = untrainedServers();
const folder = mkdtempSync(join(tmpdir(), 'parley-compact-'));
afterAll(() => rmSync(folder, { recursive: true }));
copyFileSync(untrainedModel(), join(folder, 'small.gguf'));

const flags = ['--routermode', '--admindir', folder, '--contextsize', '512', '--contextoverflow', 'compact'];
const messages = [
  { role: 'user', content: 'Begin.' },
  { role: 'assistant', content: 'red '.repeat(300) },
  { role: 'user', content: 'Go on.' },
  { role: 'assistant', content: 'blue '.repeat(300) },
  { role: 'user', content: 'And now?' },
];

// What an untrained model writes may be empty: then the summary is an error, and all else is the same.
test.each([
  ['beside the model of the chat', '2'],
  ['in place of the model of the chat, if there is room for one', '1'],
])('--compactmodel: another model summarises %s', async (_, count) => {
  const server = await startServer([...flags, '--compactmodel', 'small', '--maxmodels', count]);
  const ask = (sent: object) =>
    fetch(`${server.base}/v1/chat/completions`, {
      method: 'POST',
      body: JSON.stringify({ messages: sent, max_tokens: 4 }),
    });
  const reply = await ask(messages);
  const text = await reply.text();
  if (reply.status === 200) expect(reply.headers.get('x-parley-compacted')).toMatch(/^messages=\d/);
  else expect(text).toContain('could not be compacted');
  expect((await ask(messages.slice(0, 1))).status).toBe(200);
  const output = server.output();
  expect(output).toContain('small');
  const unloaded = output.match(/\S+ is unloaded to make room/g) ?? [];
  const names = unloaded.map((line) => line.split(' ')[0]);
  expect([names.includes('small'), names.length >= 2]).toEqual(count === '1' ? [true, true] : [false, false]);
});

test('--compactmodel: a name that no model has is an error at the start', async () => {
  await expect(startServer([...flags, '--compactmodel', 'nobody'])).rejects.toThrow(
    '--compactmodel nobody: there is no model with this name.',
  );
});
