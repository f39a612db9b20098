import { openFile } from '../roleplay/open-anywhere.ts';
import { go, navigation } from '../ui/navigation.svelte.ts';
import { reported } from '../ui/notices.svelte.ts';

/** Takes files that are no chat, story, save or card, such as attachments of the chat page, and a text beside them. */
type OtherFiles = (files: readonly File[], text?: string) => void | Promise<void>;

let attach: OtherFiles | undefined;

/** While the chat page is open, other files are attached to the message. Returns how to end it. */
export function attachOthers(take: OtherFiles): () => void {
  attach = take;
  return () => {
    if (attach === take) attach = undefined;
  };
}

/** Puts files and a text into the message that is being written on the chat page. False if that page is not open. */
export async function addToMessage(files: readonly File[], text: string): Promise<boolean> {
  if (!attach) return false;
  await attach(files, text);
  return true;
}

/** Opens dropped files where they belong, on any page. Others are attached on the chat page, and text is a story elsewhere. */
export async function dropFiles(files: readonly File[]): Promise<void> {
  const take = navigation.route.view === 'chat' ? attach : undefined;
  const others = await opened(files, take ? 'nothing' : 'story');
  if (others.length > 0) void take?.(others);
}

/** Opens files that were chosen to be imported; text files are stories. */
export async function importFiles(files: readonly File[]): Promise<void> {
  await opened(files, 'story');
}

/** Files that belong nowhere. */
async function opened(files: readonly File[], otherwise: 'nothing' | 'story'): Promise<File[]> {
  const others: File[] = [];
  for (const file of files) {
    await reported(async () => {
      const route = await openFile(file, { otherwise });
      if (route) go(route);
      else others.push(file);
    });
  }
  return others;
}
