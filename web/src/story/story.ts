import { texts } from './scenario-texts.ts';

export const modes = ['story', 'adventure', 'chat', 'instruct'] as const;
export type Mode = (typeof modes)[number];

/** A token of a reply with its alternatives. */
export interface Choice {
  readonly text: string;
  readonly probability: number;
  readonly others: readonly { readonly text: string; readonly probability: number }[];
}

/** One version of a passage, with the passages that followed it. */
export interface Branch {
  readonly text: string;
  readonly choices?: readonly Choice[];
  readonly after?: readonly Passage[];
}

/** Immutable: new text makes a new passage with the same id, so that unchanged passages can be cached. */
export interface Passage {
  readonly id: string;
  readonly by: 'person' | 'model';
  /** At least one. */
  readonly branches: readonly Branch[];
  readonly shown: number;
  /** Name of the speaker, if it is not one of the two of the story. */
  readonly name?: string;
}

export interface WorldEntry {
  readonly id: string;
  readonly keys: readonly string[];
  readonly secondaryKeys: readonly string[];
  /** Keys that exclude the entry. */
  readonly excludedBy: readonly string[];
  readonly content: string;
  readonly comment: string;
  /** Sent always, without keys. */
  readonly constant: boolean;
  /** Requires one of the secondary keys as well. */
  readonly selective: boolean;
  readonly enabled: boolean;
  /** Lower entries come first and are dropped last. */
  readonly order: number;
  readonly group: string;
  /** Probability in percent that a matching entry is sent. */
  readonly chance: number;
  readonly caseSensitive?: boolean;
  readonly wholeWords?: boolean;
  /** Keys are regular expressions. Keys like `/key/i` always are. */
  readonly regex?: boolean;
  /** How the secondary keys of a selective entry count; any of them if missing. */
  readonly secondaryLogic?: 'any' | 'all' | 'not-any' | 'not-all';
  /** In chats: before or after the description of the character, or before the last `depth` messages. */
  readonly position?: 'before' | 'after' | 'depth';
  readonly depth?: number;
  readonly role?: 'system' | 'user' | 'assistant';
  /** Number of last messages that are searched; that of the lorebook if missing. */
  readonly scanDepth?: number;
  /** The entry is not found in the content of other entries. */
  readonly notRecursive?: boolean;
  /** The content of the entry finds no other entries. */
  readonly stopsRecursion?: boolean;
  /** Unknown fields of the imported entry; they are written back on export. */
  readonly foreign?: Readonly<Record<string, unknown>>;
}

/** Settings of a lorebook. */
export interface WorldOptions {
  readonly name?: string;
  readonly description?: string;
  /** Number of last messages that are searched for keys. */
  readonly scanDepth?: number;
  /** Maximum tokens of all entries together. */
  readonly budget?: number;
  /** The content of matching entries is searched for keys too. */
  readonly recursive?: boolean;
  readonly foreign?: Readonly<Record<string, unknown>>;
}

export interface AuthorsNote {
  readonly text: string;
  /** `<|>` is where the text goes. */
  readonly template: string;
  /** Distance from the end of the text, in tokens. */
  readonly depth: number;
}

/** A reply that is being generated; the page resumes it after a reload. */
export interface Pending {
  readonly key: string;
  readonly passage: string;
  /** Text of the passage before the reply: the prefill, or the text that is continued. */
  readonly begin: string;
  readonly stops: readonly string[];
}

/** An image of the scene, shown after its passage. */
export interface Illustration {
  readonly id: string;
  readonly passage: string;
  readonly prompt: string;
  readonly blob: Blob;
}

export interface Story {
  readonly id: string;
  readonly title: string;
  readonly mode: Mode;
  readonly changed: number;
  readonly passages: readonly Passage[];
  readonly memory: string;
  readonly note: AuthorsNote;
  readonly world: readonly WorldEntry[];
  /** Characters searched for keys, from the end; 0 searches all text in the context. */
  readonly worldDepth: number;
  readonly me: string;
  readonly them: string;
  /** A chat in which each message is a single line. */
  readonly oneLine: boolean;
  readonly stops: readonly string[];
  readonly prefill: string;
  readonly pending?: Pending;
  readonly illustrations?: readonly Illustration[];
  readonly pinned?: boolean;
  readonly folder?: string;
  /** Unknown fields of the imported file; they are written back on export. */
  readonly foreign?: Readonly<Record<string, unknown>>;
}

export const defaultNote: AuthorsNote = { text: '', template: "[Author's note: <|>]", depth: 320 };

export function newStory(fields: Partial<Story> & Pick<Story, 'id' | 'changed'>): Story {
  return {
    title: '',
    mode: 'story',
    passages: [],
    memory: '',
    note: defaultNote,
    world: [],
    worldDepth: 0,
    me: 'You',
    them: 'Parley',
    oneLine: true,
    stops: [],
    prefill: '',
    ...fields,
  };
}

export function newEntry(fields: Partial<WorldEntry> & Pick<WorldEntry, 'id'>): WorldEntry {
  return {
    keys: [],
    secondaryKeys: [],
    excludedBy: [],
    content: '',
    comment: '',
    constant: false,
    selective: false,
    enabled: true,
    order: 100,
    group: '',
    chance: 100,
    ...fields,
  };
}

export function newPassage(id: string, by: Passage['by'], text: string): Passage {
  return { id, by, branches: [{ text }], shown: 0 };
}

export function branchOf(passage: Passage): Branch {
  return passage.branches[passage.shown] ?? { text: '' };
}

export function textOf(passage: Passage): string {
  return branchOf(passage).text;
}

/** The title, or else the first line. */
export function titleOf(story: Story): string {
  if (story.title.trim() !== '') return story.title;
  for (const passage of story.passages) {
    const begin = textOf(passage).trim().split('\n')[0] ?? '';
    if (begin !== '') return begin.length > 60 ? `${begin.slice(0, 59).trimEnd()}…` : begin;
  }
  return texts.untitled;
}

const counted = new WeakMap<Passage, number>();

/** Number of words. Passages are immutable, so each is counted once. */
export function wordsOf({ passages }: Pick<Story, 'passages'>): number {
  let words = 0;
  for (const passage of passages) {
    let count = counted.get(passage);
    if (count === undefined) {
      count = textOf(passage).match(/[\p{L}\p{N}][\p{L}\p{N}\p{M}'’-]*/gu)?.length ?? 0;
      counted.set(passage, count);
    }
    words += count;
  }
  return words;
}
