import { expect, test } from 'vitest';
import { fakePage } from '../testing/page.ts';

const file = { id: 'a', kind: 'text', name: 'a.txt', text: 'x' } as const;
const notes = { id: 'vs_1', name: 'Notes' };

test('attachmentDraft: keeps the files of each chat apart, and nothing for none', async () => {
  const page = fakePage();
  const { attachmentDraft } = await import('./attachment-drafts.ts');
  attachmentDraft('chat.a').write({ attachments: [file] });
  expect(await attachmentDraft('chat.a').read()).toEqual({ id: 'chat.a', attachments: [file] });
  expect(await attachmentDraft('chat.b').read()).toEqual({ attachments: [] });
  attachmentDraft('chat.a').write({ attachments: [] });
  expect(page.records('drafts').size).toBe(0);
});

test('attachmentDraft: keeps collections, also without files', async () => {
  fakePage();
  const { attachmentDraft } = await import('./attachment-drafts.ts');
  attachmentDraft('chat.new').write({ attachments: [], taken: [notes], always: [notes] });
  expect(await attachmentDraft('chat.new').read()).toMatchObject({ attachments: [], taken: [notes], always: [notes] });
});
