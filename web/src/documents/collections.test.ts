import { expect, test } from 'vitest';
import { fakePage } from '../testing/page.ts';

test('addContent: files are sent as a form, pages and texts as JSON, with ids encoded', async () => {
  const page = fakePage({ 'api/extra/documents/vs%2F1/files': () => ({ files: [] }) });
  const { addContent } = await import('./collections.ts');
  await addContent('vs/1', new File(['x'], 'a.txt'));
  await addContent('vs/1', { url: 'https://a.example/' });
  await addContent('vs/1', { name: 'n.txt', text: 'x' });
  const bodies = page.requestsTo('api/extra/documents/vs%2F1/files').map(({ body }) => body);
  expect((bodies[0] as unknown as FormData).get('file')).toMatchObject({ name: 'a.txt' });
  expect(bodies.slice(1)).toEqual([{ url: 'https://a.example/' }, { name: 'n.txt', text: 'x' }]);
});
