import type { Chat } from '../conversations/conversation.ts';
import { change, chatRecords } from '../conversations/library.svelte.ts';
import { renamed } from '../conversations/tree.ts';
import type { ExportFormat } from '../files/export-file.ts';
import { liveReply } from '../replies/replies.svelte.ts';
import { newId } from '../saved/id.ts';
import { library as stories } from '../story/library.svelte.ts';
import type { Mode, Story } from '../story/story.ts';
import { go, type Route } from '../ui/navigation.svelte.ts';
import { notify, notifyUndo, reported } from '../ui/notices.svelte.ts';
import type { Item } from './items.ts';
import { texts } from './texts.ts';
import type { ExportForm } from './transfer.ts';

/** What can be done with entries of the list. */

export function routeOfItem({ id, source }: Item): Route {
  return { view: 'chat' in source ? 'chat' : 'write', id };
}

export function isBusy({ id, source }: Item): boolean {
  return 'chat' in source ? liveReply(id) !== undefined : source.story.pending !== undefined;
}

export function renameItem({ id, source }: Item, title: string): void {
  if ('chat' in source) change(id, (chat) => renamed(chat, title));
  else setStory(id, { title: title.trim() });
}

export function pinItems(items: readonly Item[], pinned: boolean): void {
  for (const item of items) setFields(item, { pinned });
}

/** Moves items to a folder, with undo. */
export function moveItems(items: readonly Item[], folder: string): void {
  const name = folder.trim();
  for (const item of items) setFields(item, { folder: name });
  notifyUndo(name === '' ? texts.unfiled(items.length) : texts.moved(items.length, name), () => {
    for (const item of items) setFields(item, { folder: item.folder });
  });
}

/** Deletes items, with undo. Chats with a running reply stay. Leaves the page of an open one. */
export async function deleteItems(items: readonly Item[], openId: string | undefined): Promise<void> {
  const deletable = items.filter((item) => !('chat' in item.source && isBusy(item)));
  if (deletable.length < items.length) notify(texts.stillRunning, { kind: 'bad' });
  if (deletable.length === 0) return;
  const open = deletable.find(({ id }) => id === openId);
  if (open) go({ view: routeOfItem(open).view });
  for (const { id, source } of deletable) {
    if ('chat' in source) await chatRecords.remove(id);
    else await removeStory(source.story);
  }
  const back = (): void => {
    for (const { source } of deletable) {
      if ('chat' in source) chatRecords.put(source.chat);
      else stories.put(source.story);
    }
  };
  const [first, ...others] = deletable;
  notifyUndo(first && others.length === 0 ? texts.deletedOne(first.title) : texts.deleted(deletable.length), back);
}

export function duplicateItem(item: Item): void {
  const { source } = item;
  if ('story' in source) {
    go({ view: 'write', id: stories.copy(source.story).id });
    return;
  }
  const copied: Chat = {
    ...source.chat,
    id: newId(),
    title: texts.copy(item.title),
    titled: true,
    changedAt: Date.now(),
  };
  chatRecords.put(copied);
  go({ view: 'chat', id: copied.id });
}

/** Chats go into one file, each story into its own. */
export async function exportItems(
  items: readonly Item[],
  { chats: form = 'own', stories: format = 'parley' }: { chats?: ExportForm; stories?: ExportFormat } = {},
): Promise<void> {
  const chats = items.flatMap(({ source }) => ('chat' in source ? [source.chat] : []));
  if (chats.length > 0) await (await import('./transfer.ts')).exportChats(chats, form);
  const tales = items.flatMap(({ source }) => ('story' in source ? [source.story] : []));
  if (tales.length === 0) return;
  await reported(async () => {
    const [{ exported }, { download }] = await Promise.all([
      import('../files/export-file.ts'),
      import('../files/download.ts'),
    ]);
    for (const story of tales) download(exported(story, format));
  });
}

/** Opens an empty page for a chat, or for a story of this mode. */
export async function begin(kind: 'chat' | Mode): Promise<void> {
  if (kind === 'chat') {
    go({ view: 'chat' });
    return;
  }
  const { pageSettings } = await import('../writer/page-state.svelte.ts');
  pageSettings.mode = kind;
  go({ view: 'write' });
}

function setFields({ id, source }: Item, fields: { readonly pinned?: boolean; readonly folder?: string }): void {
  if ('chat' in source) change(id, (chat) => ({ ...chat, ...fields }));
  else setStory(id, fields);
}

function setStory(id: string, fields: Partial<Story>): void {
  stories.change(id, (story) => ({ ...story, ...fields }));
}

async function removeStory(story: Story): Promise<void> {
  if (story.pending) {
    const { writer } = await import('../writer/writer.svelte.ts');
    if (writer.running?.story === story.id) await writer.stop();
  }
  stories.remove(story.id);
}
