import { expect, test } from 'vitest';
import { fakePage } from '../testing/page.ts';

async function page(responses: Parameters<typeof fakePage>[0] = {}) {
  fakePage(responses);
  const { notices } = await import('../ui/notices.svelte.ts');
  return { notices, downloads: await import('./downloads.svelte.ts') };
}

test('pullModel: follows the progress, then lists the library again', async () => {
  const seen: unknown[] = [];
  const lines =
    '{"status":"pulling manifest"}\n{"status":"pulling model","total":10,"completed":4}\n{"status":"success"}\n';
  const { notices, downloads } = await page({
    'api/pull': () => new Response(lines),
    'api/admin/models': () => {
      seen.push({ ...downloads.downloads.running });
      return { models: [] };
    },
  });
  await downloads.pullModel('o/n/f.gguf');
  expect(seen).toMatchObject([{ source: 'o/n/f.gguf', done: 4, total: 10 }]);
  expect(notices.list.map(({ text }) => text)).toEqual(['Downloaded o/n/f.gguf.']);
  expect(downloads.downloads.running).toBeUndefined();
});

test('pullModel: says why a download failed', async () => {
  const { notices, downloads } = await page({ 'api/pull': () => new Response('{"error":"there is no such file"}\n') });
  await downloads.pullModel('o/n/f.gguf');
  expect(notices.list).toMatchObject([{ kind: 'bad', text: 'Cannot download o/n/f.gguf: there is no such file' }]);
});

test('jsonLines: joins lines that are cut between chunks', async () => {
  const { downloads } = await page();
  const chunks = ['{"a":', '1}\n{"a"', ':2}'].map((text) => new TextEncoder().encode(text));
  const body = new ReadableStream<Uint8Array>({
    start: (controller) => {
      for (const chunk of chunks) controller.enqueue(chunk);
      controller.close();
    },
  });
  const values = [];
  for await (const value of downloads.jsonLines({ body } as Response)) values.push(value);
  expect(values).toEqual([{ a: 1 }, { a: 2 }]);
});
