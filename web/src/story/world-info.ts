import { PatternError } from '../../../src/patterns/errors.ts';
import { compilePattern, PatternSearch } from '../../../src/patterns/search.ts';
import { patternProblem } from './pattern-texts.ts';
import type { WorldEntry, WorldOptions } from './story.ts';

/**
 * The entries that match the text of a story, lower orders first. Keys match anywhere, in any case, unless the entry says
 * otherwise. `roll` returns a number from 0 to 1 for entries with a probability.
 */
export function matching(world: readonly WorldEntry[], text: string, roll: () => number = () => 0): WorldEntry[] {
  if (world.length === 0) return [];
  const searched = searchable(text);
  return world.filter((entry) => belongs(entry, searched) && rolled(entry, roll)).sort((a, b) => a.order - b.order);
}

interface ScanContext {
  /** The texts of the messages, oldest first. */
  readonly messages: readonly string[];
  readonly options?: WorldOptions | undefined;
  readonly roll?: () => number;
  /** Number of replies so far. */
  readonly replies?: number;
  /** Which of the first messages is shown, from 0. */
  readonly greeting?: number;
  /** Resolves macros in keys and contents. */
  readonly resolve?: (text: string) => string;
}

/** Number of last messages that are searched if neither the lorebook nor the entry says otherwise. */
export const defaultScanDepth = 4;
/** Limits what entries that name each other can do. */
const maxRounds = 8;
/** Keys are searched in the last part of very long messages. */
const maxSearched = 200_000;

/** The entries of a lorebook that match a chat, lower orders first, with macros resolved and decorators applied. */
export function activeEntries(world: readonly WorldEntry[], context: ScanContext): WorldEntry[] {
  const { messages, options = {}, roll = () => 0, resolve = (text) => text } = context;
  const entries = world.map((entry) => decorated(resolved(entry, resolve), context));
  const active = new Map<string, WorldEntry>();
  const failed = new Set<string>();
  let added = '';
  for (let round = 0; round < maxRounds; round += 1) {
    const fresh = entries.filter((entry) => {
      if (active.has(entry.id) || failed.has(entry.id) || (round > 0 && entry.notRecursive)) return false;
      const depth = entry.scanDepth ?? options.scanDepth ?? defaultScanDepth;
      const scanned = messages.slice(-depth).join('\n').slice(-maxSearched);
      return belongs(entry, searchable(round === 0 ? scanned : `${scanned}\n${added}`));
    });
    for (const entry of fresh) {
      if (rolled(entry, roll)) active.set(entry.id, entry);
      else failed.add(entry.id);
    }
    added += fresh
      .filter(({ id, stopsRecursion }) => active.has(id) && !stopsRecursion)
      .map(({ content }) => `\n${content}`)
      .join('');
    if (!options.recursive || fresh.length === 0) break;
  }
  return [...active.values()].sort((a, b) => a.order - b.order);
}

function resolved(entry: WorldEntry, resolve: (text: string) => string): WorldEntry {
  if (!/\{\{|<(USER|BOT|CHAR)>/i.test(entry.content + entry.keys.join() + entry.secondaryKeys.join())) return entry;
  return {
    ...entry,
    keys: entry.keys.map(resolve),
    secondaryKeys: entry.secondaryKeys.map(resolve),
    content: resolve(entry.content),
  };
}

const positions: Readonly<Record<string, WorldEntry['position']>> = {
  before_desc: 'before',
  after_desc: 'after',
  personality: 'after',
  scenario: 'after',
};

/** Version 3 of the cards: lines at the start of the content that begin with `@@`. Unknown ones are left out. */
export function decorated(
  entry: WorldEntry,
  { replies = 0, greeting }: Pick<ScanContext, 'replies' | 'greeting'> = {},
): WorldEntry {
  if (!/^\s*@@/.test(entry.content)) return entry;
  const lines = entry.content.trimStart().split('\n');
  const count = lines.findIndex((line) => !line.trimStart().startsWith('@@'));
  let changed: WorldEntry = {
    ...entry,
    content: lines
      .slice(count === -1 ? lines.length : count)
      .join('\n')
      .trimStart(),
  };
  for (const line of lines.slice(0, count === -1 ? lines.length : count)) {
    // With three signs it replaces the one before, if that is unknown; those here are all applied.
    const [, name = '', value = ''] = /^\s*@@@?(\w+)\s*(.*)$/.exec(line) ?? [];
    const number = Number(value.trim());
    const whole = value.trim() !== '' && Number.isInteger(number) && number >= 0;
    const list = value
      .split(',')
      .map((key) => key.trim())
      .filter(Boolean);
    if (name === 'depth' && whole) changed = { ...changed, position: 'depth', depth: number };
    else if (name === 'role' && isRole(value.trim())) changed = { ...changed, role: value.trim() as 'system' };
    else if (name === 'scan_depth' && whole) changed = { ...changed, scanDepth: number };
    else if (name === 'position') changed = { ...changed, ...placed(value.trim()) };
    else if (name === 'activate') changed = { ...changed, constant: true };
    else if (name === 'constant') changed = { ...changed, constant: true };
    else if (name === 'dont_activate') changed = { ...changed, enabled: false };
    else if (name === 'additional_keys')
      changed = { ...changed, selective: true, secondaryKeys: [...changed.secondaryKeys, ...list] };
    else if (name === 'exclude_keys') changed = { ...changed, excludedBy: [...changed.excludedBy, ...list] };
    else if (name === 'activate_only_after' && whole && replies < number) changed = { ...changed, enabled: false };
    else if (name === 'activate_only_every' && number > 0 && replies % number !== 0)
      changed = { ...changed, enabled: false };
    else if (name === 'is_greeting' && whole && greeting !== undefined && greeting !== number)
      changed = { ...changed, enabled: false };
  }
  return changed;
}

function isRole(value: string): boolean {
  return value === 'system' || value === 'user' || value === 'assistant';
}

function placed(value: string): Pick<WorldEntry, 'position'> {
  const position = positions[value];
  return position === undefined ? {} : { position };
}

function rolled({ chance }: WorldEntry, roll: () => number): boolean {
  return chance >= 100 || roll() * 100 < chance;
}

interface Searchable {
  readonly text: string;
  readonly lower: string;
}

function searchable(text: string): Searchable {
  return { text, lower: text.toLowerCase() };
}

function belongs(entry: WorldEntry, searched: Searchable): boolean {
  const has = (key: string): boolean => found(key, searched, entry);
  if (!entry.enabled || entry.content.trim() === '' || entry.excludedBy.some(has)) return false;
  if (entry.constant) return true;
  return entry.keys.some(has) && secondary(entry, has);
}

function secondary({ selective, secondaryKeys, secondaryLogic }: WorldEntry, has: (key: string) => boolean): boolean {
  const keys = secondaryKeys.filter((key) => !blank(key));
  if (!selective || keys.length === 0) return true;
  if (secondaryLogic === 'all') return keys.every(has);
  if (secondaryLogic === 'not-any') return !keys.some(has);
  if (secondaryLogic === 'not-all') return !keys.every(has);
  return keys.some(has);
}

function found(key: string, { text, lower }: Searchable, entry: WorldEntry): boolean {
  if (blank(key)) return false;
  const pattern = patternOf(key, entry);
  if (pattern) return 'reason' in pattern ? false : pattern.test(text);
  if (entry.wholeWords) return wholeWord(key.trim(), entry).test(text);
  return entry.caseSensitive ? text.includes(key.trim()) : lower.includes(key.trim().toLowerCase());
}

/** Keys of an entry that are regular expressions which cannot be searched, with the reason. */
export function refusedKeys(entry: WorldEntry): { readonly key: string; readonly reason: string }[] {
  const keys = new Set([...entry.keys, ...entry.secondaryKeys, ...entry.excludedBy]);
  return [...keys].flatMap((key) => {
    const pattern = blank(key) ? undefined : patternOf(key, entry);
    return pattern && 'reason' in pattern ? [{ key, reason: pattern.reason }] : [];
  });
}

const written = /^\/(.+)\/([a-z]*)$/s;
const patterns = new Map<string, KeyPattern | RefusedPattern>();

/** `/key/i` is a regular expression in any entry; other keys only if the entry says so. */
function patternOf(key: string, { regex, caseSensitive }: WorldEntry): KeyPattern | RefusedPattern | undefined {
  const [, source = key, flags = caseSensitive ? '' : 'i'] = written.exec(key.trim()) ?? [];
  if (!regex && !written.test(key.trim())) return undefined;
  const name = `${flags}/${source}`;
  let pattern = patterns.get(name);
  if (!pattern) {
    if (patterns.size > 5000) patterns.clear();
    pattern = keyPattern(source, flags);
    patterns.set(name, pattern);
  }
  return pattern;
}

const wholeWords = new Map<string, RegExp>();

function wholeWord(key: string, { caseSensitive }: WorldEntry): RegExp {
  const name = `${key}\n${Boolean(caseSensitive)}`;
  let expression = wholeWords.get(name);
  if (!expression) {
    if (wholeWords.size > 5000) wholeWords.clear();
    expression = new RegExp(`(?<![\\p{L}\\p{N}_])${escaped(key)}(?![\\p{L}\\p{N}_])`, caseSensitive ? 'u' : 'iu');
    wholeWords.set(name, expression);
  }
  return expression;
}

function escaped(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&');
}

function blank(key: string): boolean {
  return key.trim() === '';
}

/** Parses keys separated by commas. A comma in an expression like `/a{1,3}/` belongs to it. */
export function keysOf(typed: string): string[] {
  return (typed.match(/\s*\/(?:[^\\/]|\\.)+\/[a-z]*\s*(?=,|$)|[^,]+/gs) ?? [])
    .map((key) => key.trim())
    .filter((key) => key !== '');
}

/** A regular expression of a lorebook. */
export interface KeyPattern {
  readonly test: (text: string) => boolean;
}

export interface RefusedPattern {
  /** Begins with “the pattern”. */
  readonly reason: string;
}

/** Steps of the pattern times characters of the text. Longer texts are searched at their end. */
const maxWork = 4_000_000;

/**
 * Compiles an expression that somebody else wrote. It is not run by the browser, which some expressions would block forever,
 * but searched in linear time; what this cannot search is refused.
 */
export function keyPattern(source: string, flags: string): KeyPattern | RefusedPattern {
  const unknown = [...flags].find((flag) => !'dgimsuvy'.includes(flag));
  try {
    if (unknown !== undefined) throw new PatternError('flag', { detail: unknown });
    const program = compilePattern(source, {
      ignoreCase: flags.includes('i'),
      multiline: flags.includes('m'),
      dotAll: flags.includes('s'),
    });
    // The same text is searched again with every change of the page.
    let last: { readonly text: string; readonly found: boolean } | undefined;
    return {
      test: (text) => {
        const searched = text.slice(-Math.floor(maxWork / program.steps.length));
        if (last?.text !== searched) last = { text: searched, found: matches(new PatternSearch(program), searched) };
        return last.found;
      },
    };
  } catch (thrown) {
    if (thrown instanceof PatternError) return { reason: patternProblem(thrown) };
    throw thrown;
  }
}

function matches(search: PatternSearch, text: string): boolean {
  let position = 0;
  for (const character of text) {
    search.push(character.codePointAt(0) as number, position);
    if (search.matched) return true;
    position += character.length;
  }
  return search.found(position) !== undefined;
}
