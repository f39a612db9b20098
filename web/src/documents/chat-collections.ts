import type { Attachment, Chat, TakenCollection } from '../conversations/conversation.ts';
import { change, chatRecords } from '../conversations/library.svelte.ts';
import { go } from '../ui/navigation.svelte.ts';
import { notify, reported } from '../ui/notices.svelte.ts';
import { texts } from './collection-texts.ts';
import { addContent, createCollection, fetchCollections, freeName } from './collections.ts';
import { type Reach, withReach } from './taken.ts';

/** Keeps with which messages a collection goes, in the chat or in all chats of its folder. */
export function setReach(chat: Chat, collection: TakenCollection, reach: Reach): void {
  for (const { id, collections } of withReach(chat, chatRecords.all, collection, reach))
    change(id, ({ collections: _, ...now }) => (collections?.length ? { ...now, collections } : now));
}

/** The text documents of a chat, each once. */
export function documentsOf(chat: Chat): readonly Attachment[] {
  const all = Object.values(chat.turns).flatMap(({ attachments = [] }) => attachments);
  return [...new Map(all.filter(({ kind }) => kind === 'text').map((one) => [one.id, one])).values()];
}

/** Makes a collection of the documents of a chat. The chat keeps its own. */
export async function collectDocuments(chat: Chat): Promise<void> {
  await reported(async () => {
    const { collections } = await fetchCollections(false);
    const documents = documentsOf(chat);
    const title = chat.title || documents[0]?.name || texts.collect.name;
    const name = freeName(title, collections);
    const { id } = await createCollection(name);
    for (const { name: file, text = '' } of documents) await addContent(id, { name: file, text });
    const run = (): void => go({ view: 'knowledge', id });
    notify(texts.collect.done(name), { action: { label: texts.collect.open, run } });
  });
}
