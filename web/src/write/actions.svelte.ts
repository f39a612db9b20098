import { newId } from '../saved/id.ts';
import { settings } from '../settings/settings.svelte.ts';
import { library } from '../story/library.svelte.ts';
import { addBranch, append, removeBranch, split } from '../story/passages.ts';
import { defaultNote, type Mode, newPassage, newStory, type Passage, type Story, textOf } from '../story/story.ts';
import { actionText, separator } from '../story/turns.ts';
import { go } from '../ui/navigation.svelte.ts';
import { editor, pageSettings } from '../writer/page-state.svelte.ts';
import { writer } from '../writer/writer.svelte.ts';
import { multiplayer } from './multiplayer.svelte.ts';

/** The actions of the page. */

export function beginStory(mode: Mode): Story {
  const story = newStory({
    id: newId(),
    changed: Date.now(),
    mode,
    ...(mode === 'instruct' ? { memory: settings.systemPrompt } : {}),
    ...(settings.userName === '' ? {} : { me: settings.userName }),
    ...(settings.modelName === '' ? {} : { them: settings.modelName }),
    note: { ...defaultNote, ...settings.authorsNote },
  });
  openStory(story);
  return story;
}

export function openStory(story: Story): void {
  library.put(story);
  go({ view: 'write', id: story.id });
}

/** Adds typed text and requests a reply. Empty text only requests a reply. */
export function send(story: Story, typed: string): void {
  if (typed.trim() === '') {
    continueReply(story);
    return;
  }
  const added = asPassages(story, typed);
  library.change(story.id, (now) => append(now, ...added), { undoable: true });
  write(story.id, { kind: 'new' });
}

function asPassages(story: Story, typed: string): Passage[] {
  if (story.mode === 'story') {
    const last = story.passages.at(-1);
    return split(separator(last ? textOf(last) : '', typed) + typed, 'person', newId);
  }
  if (story.mode !== 'adventure') {
    const message = newPassage(newId(), 'person', typed.trim());
    // In a shared story each message has the name of its author.
    const { name } = multiplayer.me;
    return [multiplayer.story === story.id && name.trim() !== '' ? { ...message, name: name.trim() } : message];
  }
  // Narration is shown like text of the model.
  if (pageSettings.action === 'story') return [newPassage(newId(), 'model', typed.trim())];
  return [newPassage(newId(), 'person', actionText(pageSettings.action, typed))];
}

export function continueReply(story: Story): void {
  const last = story.passages.at(-1);
  const open = story.mode === 'instruct' && last?.by === 'model';
  write(story.id, open ? { kind: 'more' } : { kind: 'new' });
}

/** Another reply instead of the last one; the first one if the last message has none. */
export function retry(story: Story): void {
  const last = story.passages.findLast(({ by }) => by === 'model');
  const at = last ? story.passages.indexOf(last) : -1;
  if (last && at === story.passages.length - 1 && at > 0) write(story.id, { kind: 'again', passage: last.id });
  else write(story.id, { kind: 'new' });
}

export function canRetry({ passages }: Story): boolean {
  return passages.length > 1 || passages.at(-1)?.by === 'person';
}

/** Adds a branch that continues with another token. */
export async function continueWithToken(story: Story, passage: string, begin: string): Promise<void> {
  library.change(story.id, (now) => addBranch(now, passage, begin), { undoable: true });
  write(story.id, { kind: 'more' });
}

export function editLast(story: Story): void {
  const last = story.passages.at(-1);
  if (last) editor.openAt(story.id, last.id, textOf(last).length);
}

export function removePart(story: Story, passage: string): void {
  editor.cancel();
  library.change(story.id, (now) => removeBranch(now, passage), { undoable: true });
}

function write(id: string, how: Parameters<typeof writer.write>[1]): void {
  editor.finish();
  const story = library.find(id);
  if (story) void writer.write(story, how);
}
