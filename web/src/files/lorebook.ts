import { type Fields, fieldsOf, flagIn, listIn, numberIn, percentIn, textIn, textsIn } from '../api/loose.ts';
import { newEntry, type WorldEntry, type WorldOptions } from '../story/story.ts';
import { keysOf } from '../story/world-info.ts';

/** Entries that are sent with a chat while their keys are in it. */
export interface Lorebook {
  readonly world: readonly WorldEntry[];
  readonly options: WorldOptions;
}

const maxEntries = 20_000;

/** A standalone lorebook: SillyTavern (entries by number), version 3 of the cards, Agnai, or NovelAI. */
export function isLorebook(value: unknown): boolean {
  const book = fieldsOf(value);
  if (book.spec === 'lorebook_v3') return true;
  if ('first_mes' in book || 'spec' in book) return false;
  const [first] = entriesIn(book);
  return first !== undefined && ['content', 'entry', 'text'].some((name) => name in fieldsOf(first));
}

export function lorebookOf(value: unknown, id: () => string): Lorebook {
  const outer = fieldsOf(value);
  const book = outer.spec === 'lorebook_v3' ? fieldsOf(outer.data) : outer;
  const { entries: _, name, description, scan_depth, token_budget, recursive_scanning, ...foreign } = book;
  const options: WorldOptions = {
    ...filled('name', textIn(name)),
    ...filled('description', textIn(description)),
    ...positive('scanDepth', scan_depth),
    ...positive('budget', token_budget),
    ...(flagIn(recursive_scanning, false) ? { recursive: true } : {}),
    ...kept(foreign),
  };
  return { world: entriesIn(book).map((entry) => entryOf(fieldsOf(entry), id)), options };
}

function entriesIn({ entries }: Fields): readonly unknown[] {
  if (Array.isArray(entries)) return listIn(entries, maxEntries);
  return Object.values(fieldsOf(entries)).slice(0, maxEntries);
}

/** Numbers that SillyTavern uses. Positions around the author's note and the examples become the nearest known one. */
const positions = ['before', 'after', 'depth', 'depth', 'depth', 'before', 'after'] as const;
const roles = ['system', 'user', 'assistant'] as const;
const logics = ['any', 'not-all', 'not-any', 'all'] as const;

function entryOf(entry: Fields, id: () => string): WorldEntry {
  const extensions = fieldsOf(entry.extensions);
  const extended = (name: string, other = name): unknown => extensions[name] ?? entry[other];
  const secondaryKeys = keysIn(entry.secondary_keys ?? entry.keysecondary);
  const position = positionIn(extensions.position ?? entry.position);
  const role = roles[numberIn(extensions.role ?? entry.role, -1)];
  const logic = logics[numberIn(extended('selectiveLogic'), 0)] ?? 'any';
  return newEntry({
    id: id(),
    keys: keysIn(entry.keys ?? entry.key ?? entry.keywords),
    secondaryKeys,
    content: textIn(entry.content) || textIn(entry.entry) || textIn(entry.text),
    comment: textIn(entry.comment) || textIn(entry.name) || textIn(entry.displayName),
    constant: flagIn(entry.constant ?? entry.forceActivation, false),
    selective: flagIn(entry.selective, false) && secondaryKeys.length > 0,
    enabled: flagIn(entry.enabled, true) && !flagIn(entry.disable, false),
    order: numberIn(entry.insertion_order ?? entry.order, 100),
    group: textIn(extended('group')),
    chance: flagIn(extended('useProbability'), true) ? percentIn(extended('probability')) : 100,
    ...on('caseSensitive', entry.case_sensitive ?? extended('case_sensitive', 'caseSensitive')),
    ...on('wholeWords', extended('match_whole_words', 'matchWholeWords')),
    ...on('regex', entry.use_regex),
    ...on('notRecursive', extended('exclude_recursion', 'excludeRecursion')),
    ...on('stopsRecursion', extended('prevent_recursion', 'preventRecursion')),
    ...(logic === 'any' ? {} : { secondaryLogic: logic }),
    ...(position === undefined ? {} : { position }),
    ...(position === 'depth' ? { depth: Math.max(0, numberIn(extended('depth'), 4)) } : {}),
    ...(position === 'depth' && role ? { role } : {}),
    ...positive('scanDepth', extended('scan_depth', 'scanDepth') ?? entry.searchRange),
    ...kept(withoutKnown(entry)),
  });
}

function keysIn(value: unknown): string[] {
  return typeof value === 'string' ? keysOf(value) : textsIn(value, 1000);
}

function positionIn(value: unknown): WorldEntry['position'] {
  if (value === 'before_char') return 'before';
  if (value === 'after_char') return 'after';
  return typeof value === 'number' ? positions[value] : undefined;
}

const knownFields = new Set([
  ...['keys', 'key', 'keywords', 'secondary_keys', 'keysecondary', 'content', 'entry', 'text', 'comment'],
  ...['constant', 'forceActivation', 'selective', 'selectiveLogic', 'enabled', 'disable', 'insertion_order', 'order'],
  ...['case_sensitive', 'caseSensitive', 'matchWholeWords', 'use_regex', 'position', 'depth', 'role', 'scanDepth'],
  ...['searchRange', 'excludeRecursion', 'preventRecursion', 'probability', 'useProbability', 'group', 'displayName'],
]);

function withoutKnown(entry: Fields): Fields {
  return Object.fromEntries(Object.entries(entry).filter(([name]) => !knownFields.has(name)));
}

function kept(foreign: Fields): { foreign?: Fields } {
  return Object.keys(foreign).length > 0 ? { foreign } : {};
}

function filled<Name extends string>(name: Name, text: string): { [Key in Name]?: string } {
  return (text.trim() === '' ? {} : { [name]: text }) as { [Key in Name]?: string };
}

function positive<Name extends string>(name: Name, value: unknown): { [Key in Name]?: number } {
  const number = numberIn(value ?? undefined, 0);
  return (number > 0 ? { [name]: number } : {}) as { [Key in Name]?: number };
}

function on<Name extends string>(name: Name, value: unknown): { [Key in Name]?: boolean } {
  return (flagIn(value, false) ? { [name]: true } : {}) as { [Key in Name]?: boolean };
}

/** A lorebook as cards of version 2 and 3 contain it. */
export function bookOf(world: readonly WorldEntry[], { name, description, ...options }: WorldOptions = {}): object {
  return {
    extensions: {},
    ...options.foreign,
    ...(name === undefined ? {} : { name }),
    ...(description === undefined ? {} : { description }),
    ...(options.scanDepth === undefined ? {} : { scan_depth: options.scanDepth }),
    ...(options.budget === undefined ? {} : { token_budget: options.budget }),
    ...(options.recursive ? { recursive_scanning: true } : {}),
    entries: world.map(bookEntry),
  };
}

/** SillyTavern reads what the card format does not have from the extensions. */
function bookEntry(entry: WorldEntry, index: number): object {
  const { foreign = {}, position = 'before' } = entry;
  return {
    ...foreign,
    id: foreign.id ?? index,
    keys: entry.keys,
    secondary_keys: entry.secondaryKeys,
    content: entry.content,
    comment: entry.comment,
    name: entry.comment,
    constant: entry.constant,
    selective: entry.selective,
    enabled: entry.enabled,
    insertion_order: entry.order,
    case_sensitive: entry.caseSensitive ?? false,
    use_regex: entry.regex ?? false,
    position: position === 'before' ? 'before_char' : 'after_char',
    extensions: {
      ...fieldsOf(foreign.extensions),
      position: { before: 0, after: 1, depth: 4 }[position],
      ...(position === 'depth' ? { depth: entry.depth ?? 4, role: roles.indexOf(entry.role ?? 'system') } : {}),
      selectiveLogic: logics.indexOf(entry.secondaryLogic ?? 'any'),
      match_whole_words: entry.wholeWords ?? null,
      case_sensitive: entry.caseSensitive ?? null,
      exclude_recursion: entry.notRecursive ?? false,
      prevent_recursion: entry.stopsRecursion ?? false,
      scan_depth: entry.scanDepth ?? null,
      probability: entry.chance,
      useProbability: entry.chance < 100,
      group: entry.group,
    },
  };
}

/** A standalone lorebook of version 3. */
export function lorebookFile({ world, options }: Lorebook): object {
  return { spec: 'lorebook_v3', data: bookOf(world, options) };
}
