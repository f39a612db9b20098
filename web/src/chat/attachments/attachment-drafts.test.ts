import { expect, test } from 'vitest';
import { fakePage } from '../../testing/page.ts';

const file = { id: 'a', kind: 'text', name: 'a.txt', text: 'x' } as const;

test('attachmentDraft: keeps the files of each chat apart, and nothing for none', async () => {
  const page = fakePage();
  const { attachmentDraft } = await import('./attachment-drafts.ts');
  attachmentDraft('chat.a').write([file]);
  expect(await attachmentDraft('chat.a').read()).toEqual([file]);
  expect(await attachmentDraft('chat.b').read()).toEqual([]);
  attachmentDraft('chat.a').write([]);
  expect(page.records('drafts').size).toBe(0);
});
