import { characters, loadCharacters, personas } from '../characters/library.svelte.ts';
import type { Chat } from '../conversations/conversation.ts';
import { markdownFile, ownFile, shareGptFile } from '../conversations/sharing.ts';
import { dataUrlOf } from '../files/data-url.ts';
import { download, fileName } from '../files/download.ts';
import { settings } from '../settings/settings.svelte.ts';
import { reported } from '../ui/notices.svelte.ts';

export type ExportForm = 'own' | 'sharegpt' | 'markdown';

export async function exportChats(chats: readonly Chat[], form: ExportForm): Promise<void> {
  const only = chats.length === 1 ? chats[0] : undefined;
  const name = only?.title || 'Chats';
  await reported(async () => {
    if (form === 'own') give(name, '.json', await ownFile(chats, { toDataUrl: dataUrlOf, cast: await castFor(chats) }));
    else if (form === 'sharegpt') give(name, '.sharegpt.json', shareGptFile(chats, settings.systemPrompt));
    else give(name, '.md', chats.map(markdownFile).join('\n---\n\n'), 'text/markdown');
  });
}

/** The file has the characters and personas too, so that the chats work in another browser. */
async function castFor(chats: readonly Chat[]): Promise<object> {
  const [{ castOfChats, packedCast }] = await Promise.all([import('../files/chat-cast.ts'), loadCharacters()]);
  return packedCast(castOfChats(chats, { characters: characters.all, personas: personas.all }), dataUrlOf);
}

function give(title: string, extension: string, content: string, type = 'application/json'): void {
  download({ name: fileName(title, extension), type, content });
}
