import { describe, expect, test } from 'vitest';
import { fakePage } from '../../testing/page.ts';
import { texts } from './texts.ts';
import { titleOf } from './title.ts';

describe('titleOf', () => {
  test.each([
    ['Rye Bread Baking', 'Rye Bread Baking'],
    ['"Rye Bread Baking."', 'Rye Bread Baking'],
    ['Title: **Rye Bread**\nIt is about bread.', 'Rye Bread'],
    ['<think>short</think>\n\n# Rye Bread', 'Rye Bread'],
    ['面包食谱。', '面包食谱'],
  ])('%j is %j', (answer, title) => {
    expect(titleOf(answer, texts.request)).toBe(title);
  });

  test.each([
    '',
    '  \n',
    'This is a long sentence about the bread of the day',
    'x'.repeat(61),
    'Write a title for this',
  ])('%j is none', (answer) => {
    expect(titleOf(answer, texts.request)).toBeUndefined();
  });
});

describe('titles of the model', () => {
  const reply = 'data: {"choices":[{"delta":{"content":"Bake it."},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n';

  async function sent(title: (signal: AbortSignal | undefined) => unknown) {
    const page = fakePage({
      'v1/chat/completions': (body: { stream?: boolean }, signal) =>
        body.stream ? new Response(reply) : title(signal),
    });
    const { settings } = await import('../../settings/settings.svelte.ts');
    settings.modelTitles = true;
    const { chatRecords } = await import('../../conversations/library.svelte.ts');
    const { loadScripts } = await import('../../replies/message-texts.svelte.ts');
    await loadScripts(undefined);
    const { send } = await import('../actions.ts');
    send(undefined, { text: 'How long does rye bake?' });
    const id = chatRecords.all[0]?.id ?? '';
    const titleRequests = () => page.requestsTo('v1/chat/completions').filter(({ body }) => !body.stream);
    return { page, chatRecords, send, id, titleRequests, chat: () => chatRecords.find(id) };
  }
  const answer = (content: string) => ({ choices: [{ message: { content } }] });

  test('replace the first message after the first reply', async () => {
    const { chat, titleRequests } = await sent(() => answer('Baking rye bread'));
    expect(chat()?.title).toBe('How long does rye bake?');
    await expect.poll(() => chat()?.title).toBe('Baking rye bread');
    expect(titleRequests()).toHaveLength(1);
  });

  test('are left out if the answer is none', async () => {
    const { chat, titleRequests } = await sent(() => answer(''));
    await expect.poll(() => titleRequests()).toHaveLength(1);
    expect(chat()).toMatchObject({ title: 'How long does rye bake?', titled: false });
  });

  test('are given up when the person sends a message', async () => {
    let aborted = false;
    const { chat, send, id, titleRequests } = await sent(
      (signal) =>
        new Promise((_, reject) => {
          signal?.addEventListener('abort', () => {
            aborted = true;
            reject(signal.reason);
          });
        }),
    );
    await expect.poll(() => titleRequests()).toHaveLength(1);
    const { onFinished } = await import('../../replies/replies.svelte.ts');
    const finished = new Promise<void>((resolve) => onFinished(() => resolve()));
    send(id, { text: 'And wheat?' });
    expect(aborted).toBe(true);
    await expect.poll(() => Object.keys(chat()?.turns ?? {})).toHaveLength(4);
    expect(chat()?.title).toBe('How long does rye bake?');
    expect(titleRequests()).toHaveLength(1);
    await finished;
  });
});
