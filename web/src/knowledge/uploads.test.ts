import { expect, test } from 'vitest';
import { fakePage } from '../testing/page.ts';

const named = (name: string) => ({ name, text: 'x' });

async function opened(answer: (body: { name: string }) => unknown) {
  const page = fakePage({
    'api/extra/documents': () => ({ collections: [], can_add_folders: false }),
    'api/extra/documents/vs_1/files': answer,
  });
  const { upload, uploads, stopUploads } = await import('./uploads.svelte.ts');
  const { notices } = await import('../ui/notices.svelte.ts');
  const sent = () => page.requestsTo('api/extra/documents/vs_1/files').map(({ body }) => body.name);
  return { upload, uploads, stopUploads, notices, sent };
}
const refusal = (text: string) => Response.json({ detail: { msg: text } }, { status: 400 });

test('upload: contents are sent one after another, and one that fails is named', async () => {
  const { upload, uploads, notices, sent } = await opened(({ name }) =>
    name === 'b' ? refusal('The disk is full.') : { files: [] },
  );
  await upload('vs_1', ['a', 'b', 'c'].map(named));
  expect(sent()).toEqual(['a', 'b', 'c']);
  expect(notices.list.map(({ text }) => text)).toEqual(["Can't add b: The disk is full."]);
  expect(uploads).toMatchObject({ running: false, done: 0, total: 0 });
});

test('upload: many failures are one notice', async () => {
  const { upload, notices } = await opened(() => refusal('The disk is full.'));
  await upload('vs_1', ['a', 'b', 'c', 'd'].map(named));
  expect(notices.list.map(({ text }) => text)).toEqual(['4 files were not added. The last reason: The disk is full.']);
});

test('upload: what is added meanwhile is sent, too; Stop ends it without a notice', async () => {
  const waiting: (() => void)[] = [];
  const { upload, uploads, stopUploads, notices, sent } = await opened(
    () => new Promise((resolve) => waiting.push(() => resolve({ files: [] }))),
  );
  const first = upload('vs_1', [named('a')]);
  await upload('vs_1', [named('b'), named('c')]);
  expect(uploads).toMatchObject({ running: true, total: 3 });
  await expect.poll(() => waiting.length).toBe(1);
  waiting.shift()?.();
  await expect.poll(sent).toEqual(['a', 'b']);
  stopUploads();
  waiting.shift()?.();
  await first;
  expect(sent()).toEqual(['a', 'b']);
  expect(notices.list).toEqual([]);
});
