import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { liveServers } from '../live/server.ts';
import { gridTokens, writeGridProjector } from './models.ts';
import { ensurePack, packs } from './pack.ts';
import { png } from './png.ts';

const folder = mkdtempSync(join(tmpdir(), 'vision-dialects-'));
const projector = join(folder, 'projector.gguf');
const missing = await ensurePack();
if (missing) console.warn(`Skipped, because ${missing}`);
const start = liveServers();
afterAll(() => rmSync(folder, { recursive: true }));

const base64 = png(64, 64, (x) => (x % 16 < 8 ? [255, 0, 0] : [0, 0, 255])).toString('base64');
const url = `data:image/png;base64,${base64}`;
const question = 'What do you see?';
const shared = { temperature: 0 };

/** The same question about the same picture, as each dialect says it; `picture` false leaves the picture out. */
const dialects = [
  {
    name: 'chat completions',
    path: '/v1/chat/completions',
    body: (withImage: boolean) => ({
      ...shared,
      max_tokens: 12,
      messages: [
        {
          role: 'user',
          content: [
            ...(withImage ? [{ type: 'image_url', image_url: { url } }] : []),
            { type: 'text', text: question },
          ],
        },
      ],
    }),
    // biome-ignore lint/suspicious/noExplicitAny: the reply of a server, looked at field by field
    read: (reply: any) => ({ text: reply.choices[0].message.content, tokens: reply.usage.prompt_tokens }),
  },
  {
    name: 'responses',
    path: '/v1/responses',
    body: (withImage: boolean) => ({
      ...shared,
      max_output_tokens: 12,
      input: [
        {
          role: 'user',
          content: [
            ...(withImage ? [{ type: 'input_image', image_url: url }] : []),
            { type: 'input_text', text: question },
          ],
        },
      ],
    }),
    // biome-ignore lint/suspicious/noExplicitAny: as above
    read: (reply: any) => ({ text: reply.output[0].content[0].text, tokens: reply.usage.input_tokens }),
  },
  {
    name: 'messages',
    path: '/v1/messages',
    body: (withImage: boolean) => ({
      ...shared,
      max_tokens: 12,
      messages: [
        {
          role: 'user',
          content: [
            ...(withImage
              ? [{ type: 'image', source: { type: 'base64', media_type: 'image/png', data: base64 } }]
              : []),
            { type: 'text', text: question },
          ],
        },
      ],
    }),
    // biome-ignore lint/suspicious/noExplicitAny: as above
    read: (reply: any) => ({
      text: reply.content[0].text,
      tokens: reply.usage.input_tokens + reply.usage.cache_read_input_tokens,
    }),
  },
  {
    name: 'ollama',
    path: '/api/chat',
    body: (withImage: boolean) => ({
      model: 'any',
      stream: false,
      options: { ...shared, num_predict: 12 },
      messages: [{ role: 'user', content: question, ...(withImage ? { images: [base64] } : {}) }],
    }),
    // biome-ignore lint/suspicious/noExplicitAny: as above
    read: (reply: any) => ({ text: reply.message.content, tokens: reply.prompt_eval_count }),
  },
  {
    name: 'native',
    path: '/api/v1/generate',
    body: (withImage: boolean) => ({
      ...shared,
      max_length: 12,
      prompt: question,
      ...(withImage ? { images: [base64] } : {}),
    }),
    // biome-ignore lint/suspicious/noExplicitAny: as above
    read: (reply: any) => ({ text: reply.results[0].text, tokens: reply.results[0].prompt_tokens }),
  },
] as const;

async function ask(base: string, { path, body }: (typeof dialects)[number], withImage: boolean) {
  const reply = await fetch(`${base}${path}`, { method: 'POST', body: JSON.stringify(body(withImage)) });
  return { status: reply.status, json: (await reply.json()) as object };
}

describe.skipIf(missing !== undefined)('with a projector', () => {
  let base = '';
  beforeAll(async () => {
    process.env.PARLEY_PACKS = packs;
    await writeGridProjector(projector, 512);
    ({ base } = await start(['--usecpu', '--mmproj', projector]));
  });

  test.each(dialects)('$name: accepts an image in the prompt', async (dialect) => {
    const blind = await ask(base, dialect, false);
    const seeing = await ask(base, dialect, true);
    expect([blind.status, seeing.status], JSON.stringify(seeing.json)).toEqual([200, 200]);
    const [before, after] = [dialect.read(blind.json), dialect.read(seeing.json)];
    expect(after.tokens - before.tokens).toBeGreaterThanOrEqual(gridTokens);
  });

  test('capabilities report vision', async () => {
    const version = (await (await fetch(`${base}/api/extra/version`)).json()) as { vision: boolean };
    const props = (await (await fetch(`${base}/props`)).json()) as { modalities: { vision: boolean } };
    expect([version.vision, props.modalities.vision]).toEqual([true, true]);
  });
});

describe('without a projector', () => {
  let base = '';
  beforeAll(async () => {
    ({ base } = await start([]));
  });

  test.each(dialects)('$name: refuses an image in the form of its dialect', async (dialect) => {
    const { status, json } = await ask(base, dialect, true);
    expect(status).toBe(400);
    expect(JSON.stringify(json)).toMatch(/[Ii]mage input/);
  });
});
