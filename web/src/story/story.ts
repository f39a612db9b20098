export const modes = ['story', 'adventure', 'chat', 'instruct'] as const;
export type Mode = (typeof modes)[number];

/** A token of a reply, and what else could have stood there. */
export interface Choice {
  readonly text: string;
  readonly probability: number;
  readonly others: readonly { readonly text: string; readonly probability: number }[];
}

/** One way in which a passage can go, and all that came after it while it was the one that is shown. */
export interface Branch {
  readonly text: string;
  readonly choices?: readonly Choice[];
  readonly after?: readonly Passage[];
}

/** Never changed: a new text is a new passage with the same id, so that all that is unchanged need not be looked at again. */
export interface Passage {
  readonly id: string;
  readonly by: 'person' | 'model';
  /** At least one. */
  readonly branches: readonly Branch[];
  readonly shown: number;
  /** In a chat with several, who speaks, where it is not the name of the story. */
  readonly name?: string;
}

export interface WorldEntry {
  readonly id: string;
  readonly keys: readonly string[];
  readonly secondaryKeys: readonly string[];
  /** Where one of these is found, the entry stays out. */
  readonly excludedBy: readonly string[];
  readonly content: string;
  readonly comment: string;
  /** Always there, whatever is written. */
  readonly constant: boolean;
  /** One of the secondary keys has to be there as well. */
  readonly selective: boolean;
  readonly enabled: boolean;
  /** Lower ones come first, and are the last to go when there is no room. */
  readonly order: number;
  readonly group: string;
  /** How often it is told when it belongs, in percent. */
  readonly chance: number;
}

export interface AuthorsNote {
  readonly text: string;
  /** `<|>` is where the text goes. */
  readonly template: string;
  /** How far from the end it stands, in tokens. */
  readonly depth: number;
}

/** A reply that was on its way when the page was last seen. */
export interface Pending {
  readonly key: string;
  readonly passage: string;
  /** What the passage held before the reply: the prefill, or the text that is continued. */
  readonly begin: string;
  readonly stops: readonly string[];
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
  /** How many characters from the end are searched for keys; 0 is all that the model sees. */
  readonly worldDepth: number;
  readonly me: string;
  readonly them: string;
  /** A chat in which each message is a single line. */
  readonly oneLine: boolean;
  readonly stops: readonly string[];
  readonly prefill: string;
  readonly pending?: Pending;
  /** Fields of the file that it came from and that mean nothing here; they go back into the file. */
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

/** What the story is called in lists: its title, or else how it begins. */
export function titleOf(story: Story): string {
  if (story.title.trim() !== '') return story.title;
  for (const passage of story.passages) {
    const begin = textOf(passage).trim().split('\n')[0] ?? '';
    if (begin !== '') return begin.length > 60 ? `${begin.slice(0, 59).trimEnd()}…` : begin;
  }
  return 'Untitled';
}

const counted = new WeakMap<Passage, number>();

/** How many words the text has. Passages do not change, so each is counted once. */
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
