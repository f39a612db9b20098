import { expect, test } from 'vitest';
import { emptyChat } from '../conversations/tree.ts';
import { fakePage } from '../testing/page.ts';

const list = 'api/extra/sync/list';
const save = 'api/extra/sync/save';

test('sync: is off for the next person who signs in, until that person switches it on', async () => {
  let library = 'key ann';
  let revision = 0;
  const page = fakePage({
    [list]: () => ({ revision, records: [], library }),
    [save]: () => {
      revision += 1;
      return { revision };
    },
  });
  page.records('chats').set('a', emptyChat('a', 1));
  const { settings } = await import('../settings/settings.svelte.ts');
  const { keepOnServer } = await import('./choice.ts');
  const { startSync, syncNow } = await import('./sync.svelte.ts');
  keepOnServer(true);
  await startSync();
  expect(page.requestsTo(save)).toHaveLength(1);
  library = 'key bob';
  syncNow();
  await expect.poll(() => settings.keepOnServer).toBe(false);
  expect(page.requestsTo(save)).toHaveLength(1);
  revision = 0;
  keepOnServer(true);
  syncNow();
  await expect.poll(() => page.requestsTo(save)).toHaveLength(2);
  expect(settings.keepOnServer).toBe(true);
});
