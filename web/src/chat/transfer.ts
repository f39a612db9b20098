import { go } from '../app/navigation.svelte.ts';
import { notify, notifyFailure } from '../app/notices.svelte.ts';
import { blobOf, dataUrlOf } from '../files/data-url.ts';
import { download, fileName } from '../files/download.ts';
import { newId } from '../saved/id.ts';
import { settings } from '../settings/settings.svelte.ts';
import { put } from './library.svelte.ts';
import type { Chat } from './model/conversation.ts';
import { importedChats, markdownFile, ownFile, shareGptFile } from './model/sharing.ts';

export type ExportForm = 'own' | 'sharegpt' | 'markdown';

export async function exportChats(chats: readonly Chat[], form: ExportForm): Promise<void> {
  const only = chats.length === 1 ? chats[0] : undefined;
  const name = only?.title || 'Chats';
  try {
    if (form === 'own') give(name, '.json', await ownFile(chats, { toDataUrl: dataUrlOf }));
    else if (form === 'sharegpt') give(name, '.sharegpt.json', shareGptFile(chats, settings.systemPrompt));
    else give(name, '.md', chats.map(markdownFile).join('\n---\n\n'), 'text/markdown');
  } catch (thrown) {
    notifyFailure(thrown);
  }
}

function give(title: string, extension: string, content: string, type = 'application/json'): void {
  download({ name: fileName(title, extension), type, content });
}

export async function importFiles(files: Iterable<File>): Promise<void> {
  for (const file of files) {
    try {
      const chats = importedChats(await file.text(), { toDataUrl: dataUrlOf, toBlob: blobOf, newId, now: Date.now() });
      for (const chat of chats) put(chat);
      const [first] = chats;
      if (first) go({ view: 'chat', id: first.id });
      notify(chats.length === 1 ? '1 chat imported.' : `${chats.length} chats imported.`);
    } catch (thrown) {
      if (thrown instanceof Error) notify(`${file.name}: ${thrown.message}`, { kind: 'bad' });
      else notifyFailure(thrown);
    }
  }
}
