import { notifyFailure } from '../app/notices.svelte.ts';
import { autosave } from '../saved/autosave.ts';
import { collection } from '../saved/database.ts';
import { emptyHistory, type History, redo as redone, remember, undo as undone } from '../saved/history.ts';
import type { Chat } from './model/conversation.ts';

const kept = collection<Chat>('chats');
const saver = autosave<Chat>({ put: kept.put, onFailure: notifyFailure });
addEventListener('pagehide', () => void saver.flush());

let chats = $state.raw<readonly Chat[]>([]);
let ready = $state(false);
/** Undo restores the turns; title and folder stay. */
type Turns = Pick<Chat, 'turns' | 'chosen'>;
const turnsOf = ({ turns, chosen }: Chat): Turns => ({ turns, chosen });
let histories = $state.raw<Readonly<Record<string, History<Turns>>>>({});

/** All chats of this browser. Changes are shown and saved at once. */
export const library = {
  get ready(): boolean {
    return ready;
  },
  get chats(): readonly Chat[] {
    return chats;
  },
  get(id: string): Chat | undefined {
    return chats.find((chat) => chat.id === id);
  },
  history(id: string): History<Turns> {
    return histories[id] ?? emptyHistory;
  },
};

/** Keeps other tabs in sync. */
const tabs = new BroadcastChannel('parley.chats');
tabs.onmessage = ({ data }: MessageEvent<string>) => {
  kept.get(data).then((chat) => {
    if (chat) replace(chat);
    else chats = chats.filter(({ id }) => id !== data);
  }, notifyFailure);
};

const loaded = kept.all().then(
  (all) => {
    chats = all;
    ready = true;
  },
  (reason) => {
    ready = true;
    notifyFailure(reason);
  },
);

export function libraryLoaded(): Promise<void> {
  return loaded;
}

let asked = false;

/** Browsers may evict stored data when the disk is full, unless persistence is requested. */
function askToKeep(): void {
  if (asked) return;
  asked = true;
  navigator.storage?.persist?.().catch(() => {});
}

/** Shows and saves a chat at once. */
export function put(chat: Chat): void {
  askToKeep();
  replace(chat);
  saver.changed(chat);
  void saver.flush();
}

/** Changes a chat. `undoable` adds an undo step. */
export function change(id: string, make: (chat: Chat) => Chat, { undoable = false } = {}): void {
  const before = library.get(id);
  if (!before) return;
  if (undoable) histories = { ...histories, [id]: remember(library.history(id), turnsOf(before)) };
  put(make(before));
}

/** Saves the text so far of a reply without showing it, in case the page closes. */
export function note(chat: Chat): void {
  saver.changed(chat);
}

export async function saveNow(id: string): Promise<void> {
  await saver.flush();
  tabs.postMessage(id);
}

export function undo(id: string): void {
  step(id, undone);
}

export function redo(id: string): void {
  step(id, redone);
}

export async function remove(id: string): Promise<void> {
  chats = chats.filter((chat) => chat.id !== id);
  await saver.flush();
  await kept.remove(id).catch(notifyFailure);
  tabs.postMessage(id);
}

function step(id: string, go: typeof undone): void {
  const chat = library.get(id);
  const gone = chat && go(library.history(id), turnsOf(chat));
  if (!gone) return;
  const [history, turns] = gone;
  histories = { ...histories, [id]: history };
  put({ ...chat, ...turns });
}

function replace(chat: Chat): void {
  const at = chats.findIndex(({ id }) => id === chat.id);
  chats = at === -1 ? [...chats, chat] : chats.with(at, chat);
}
