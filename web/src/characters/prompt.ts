import { type Character, calledName, type DepthPrompt, type Persona } from '../conversations/character.ts';
import type { Chat, Turn } from '../conversations/conversation.ts';
import type { WorldEntry, WorldOptions } from '../story/story.ts';
import { activeEntries, decorated, defaultScanDepth } from '../story/world-info.ts';
import { texts } from './chat-texts.ts';
import { type MacroValues, resolveMacros, seededRandom } from './macros.ts';
import { prompts } from './prompts.ts';

/** Who takes part in a chat. */
export interface Cast {
  /** The character that speaks next; undefined in a chat without characters. */
  readonly speaker: Character | undefined;
  readonly characters: readonly Character[];
  readonly persona: Pick<Persona, 'name' | 'description'> | undefined;
}

export interface FrameContext {
  /** System prompt of the settings. */
  readonly system: string;
  readonly now: Date;
  readonly model?: string;
  /** Maximum tokens of the lorebooks together, if they do not say otherwise. */
  readonly worldTokens?: number;
}

/** Everything of a prompt but the messages, with macros resolved. */
export interface PromptFrame {
  readonly system: string;
  /** Example dialogue; `***` separates the examples. Left out if there is too little room. */
  readonly examples: string;
  /** Before the last `depth` messages, in this order. */
  readonly inserted: readonly DepthPrompt[];
  /** After the messages. */
  readonly after: string;
  /** Lorebook entries that are sent. */
  readonly world: readonly WorldEntry[];
  readonly cast: Cast;
  /** Messages are sent with the names of their speakers. */
  readonly named: boolean;
  nameOf(turn: Pick<Turn, 'role' | 'speaker' | 'name'>): string;
  textOf(turn: Turn): string;
}

/** As `context-fit.ts` estimates. */
const charactersPerToken = 3.6;

/** The names of the person and of the character, and what else macros stand for, without those of a message. */
export function macroValues(chat: Pick<Chat, 'id'>, cast: Cast, { now, model = '' }: FrameContext): MacroValues {
  const { speaker, persona, characters } = cast;
  return {
    user: persona?.name || texts.person,
    char: speaker ? calledName(speaker) : model,
    persona: persona?.description ?? '',
    description: speaker?.description ?? '',
    personality: speaker?.personality ?? '',
    scenario: speaker?.scenario ?? '',
    examples: speaker?.examples ?? '',
    group: characters.map(calledName).join(', '),
    model,
    now,
    random: seededRandom(chat.id),
    seed: chat.id,
  };
}

export function promptFrame(chat: Chat, path: readonly Turn[], cast: Cast, context: FrameContext): PromptFrame {
  const { speaker, persona, characters } = cast;
  const group = characters.length > 1;
  const last = (role?: Turn['role']): string =>
    path.findLast((turn) => (role === undefined ? turn.role !== 'tool' : turn.role === role))?.text ?? '';
  const values: MacroValues = {
    ...macroValues(chat, cast, context),
    // The same prompt is shown and sent; it changes with the next message.
    random: seededRandom(`${chat.id}/${path.length}/${path.at(-1)?.id ?? ''}`),
    lastMessage: last(),
    lastUserMessage: last('user'),
    lastCharMessage: last('assistant'),
  };
  const plain = speaker === undefined && persona === undefined;
  const resolve = (text: string, original = ''): string =>
    plain ? text : resolveMacros(text, { ...values, original }).trim();
  const nameOf = (turn: Pick<Turn, 'role' | 'speaker' | 'name'>): string => speakerName(turn, cast);
  const textOf = (turn: Turn): string => turnText(chat, turn, cast, context);

  const books = [...(chat.world ?? []), ...(speaker?.world ?? [])];
  const scan = {
    messages: path
      .filter(({ role }) => role !== 'tool')
      .slice(-maxScanDepth(books, speaker?.worldOptions))
      .map((turn) => (speaker ? `${nameOf(turn)}: ${textOf(turn)}` : turn.text)),
    replies: path.filter(({ role }) => role === 'assistant').length,
    greeting: greetingIndex(chat, path),
    roll: values.random,
    resolve: (text: string) => resolve(text),
  };
  const world = [
    ...fitting(activeEntries(chat.world ?? [], scan), {}, context.worldTokens),
    ...(speaker
      ? fitting(
          activeEntries(speaker.world, { ...scan, options: speaker.worldOptions }),
          speaker.worldOptions ?? {},
          context.worldTokens,
        )
      : []),
  ].sort((a, b) => a.order - b.order);
  const at = (position: WorldEntry['position']): string =>
    world
      .filter((entry) => (entry.position ?? 'before') === position)
      .map(({ content }) => content.trim())
      .join('\n');

  const system = [
    resolve(...mainPrompt(chat, cast, context.system)),
    at('before'),
    resolve(persona?.description ?? ''),
    resolve(speaker?.description ?? ''),
    speaker && speaker.personality.trim() !== '' ? resolve(prompts.personality(speaker.personality)) : '',
    speaker && speaker.scenario.trim() !== '' ? resolve(prompts.scenario(speaker.scenario)) : '',
    at('after'),
    isSummarized(chat, path) ? prompts.summary(chat.summary?.text.trim() ?? '') : '',
  ];
  const inserted: readonly DepthPrompt[] = [
    ...world
      .filter(({ position }) => position === 'depth')
      .map(({ content, depth = 4, role = 'system' }) => ({ text: content.trim(), depth, role })),
    ...[speaker?.depthPrompt, chat.note].flatMap((one) => (one ? [{ ...one, text: resolve(one.text) }] : [])),
  ].filter(({ text }) => text !== '');
  const examples = examplesOf(resolve(speaker?.examples ?? ''));
  return {
    system: system.filter((part) => part.trim() !== '').join('\n\n'),
    examples: examples === '' ? '' : prompts.examples(examples),
    inserted,
    after: [resolve(speaker?.afterMessages ?? ''), group ? resolve(prompts.onlyAs) : '']
      .filter((part) => part !== '')
      .join('\n\n'),
    world,
    cast,
    named: group,
    nameOf,
    textOf,
  };
}

/** Number of last messages that any entry looks at. */
function maxScanDepth(entries: readonly WorldEntry[], options: WorldOptions = {}): number {
  const depths = entries.map((entry) => decorated(entry).scanDepth ?? 0);
  return Math.max(1, options.scanDepth ?? 0, defaultScanDepth, ...depths);
}

/** The system prompt, and what `{{original}}` in it stands for. */
function mainPrompt(chat: Chat, { speaker, characters }: Cast, settings: string): [text: string, original: string] {
  if (!speaker) return [chat.system ?? settings, settings];
  const fallback = characters.length > 1 ? prompts.groupMain : prompts.main;
  const own = settings.trim() === '' ? fallback : settings;
  const card = speaker.system.trim() === '' ? own : speaker.system.replaceAll(/\{\{original\}\}/gi, () => own);
  return chat.system === undefined ? [card, own] : [chat.system, card];
}

/** `<START>` begins each example. */
function examplesOf(text: string): string {
  return text
    .split(/<START>/i)
    .map((example) => example.trim())
    .filter((example) => example !== '')
    .map((example) => `***\n${example}`)
    .join('\n');
}

/** Name of the person or of a character, also of one that was deleted since. */
function speakerName(
  { role, speaker, name }: Pick<Turn, 'role' | 'speaker' | 'name'>,
  { speaker: next, characters, persona }: Cast,
): string {
  if (role === 'user') return name ?? (persona?.name || texts.person);
  const known = characters.find(({ id }) => id === speaker);
  return known ? calledName(known) : (name ?? (next ? calledName(next) : ''));
}

/** The text of a message as it is shown and sent. In chats without characters it is what was written. */
export function turnText(chat: Pick<Chat, 'id'>, turn: Turn, cast: Cast, context: FrameContext): string {
  if (cast.characters.length === 0) return turn.text;
  const own = cast.characters.find(({ id }) => id === turn.speaker) ?? cast.speaker;
  return resolveMacros(turn.text, {
    ...macroValues(chat, { ...cast, speaker: own }, context),
    now: new Date(turn.at),
    random: seededRandom(turn.id),
    seed: turn.id,
  });
}

/** Which of the greetings is shown, from 0. */
function greetingIndex({ turns }: Chat, [first]: readonly Turn[]): number {
  const greetings = Object.values(turns)
    .filter(({ parent, role }) => parent === null && role === 'assistant')
    .sort((a, b) => a.at - b.at);
  const index = greetings.findIndex(({ id }) => id === first?.id);
  return Math.max(0, index);
}

/** Entries that are always sent come first; of the others those with a low order. */
function fitting(entries: readonly WorldEntry[], { budget }: WorldOptions, defaultTokens = Infinity): WorldEntry[] {
  let room = (budget ?? defaultTokens) * charactersPerToken;
  const included = new Set<string>();
  for (const entry of [...entries].sort((a, b) => Number(b.constant) - Number(a.constant) || a.order - b.order)) {
    const size = entry.content.trim().length + 1;
    if (size > room) continue;
    room -= size;
    included.add(entry.id);
  }
  return entries.filter(({ id }) => included.has(id));
}

function isSummarized({ summary }: Chat, path: readonly Turn[]): boolean {
  return summary !== undefined && summary.text.trim() !== '' && path.some(({ id }) => id === summary.upTo);
}

/** Number of first turns that the summary stands for. */
export function summarizedTurns(chat: Chat, path: readonly Turn[]): number {
  return isSummarized(chat, path) ? path.findIndex(({ id }) => id === chat.summary?.upTo) + 1 : 0;
}

/** All that is sent besides the messages, for estimates. */
export function frameText({ system, examples, inserted, after }: PromptFrame): string {
  return [system, examples, ...inserted.map(({ text }) => text), after].filter((part) => part !== '').join('\n\n');
}

/** Stop sequences: the names of all but the speaker, then those of the chat and of the settings. */
export function stopsOf(chat: Chat, cast: Cast, path: readonly Turn[], own: readonly string[]): string[] {
  return [...nameStops(cast, path), ...(chat.stops ?? []), ...own].filter((stop) => stop !== '');
}

const maxNames = 32;

function nameStops(cast: Cast, path: readonly Turn[]): string[] {
  if (!cast.speaker) return [];
  const me = calledName(cast.speaker);
  const spoke = path
    .slice(-100)
    .filter(({ role }) => role !== 'tool')
    .map((turn) => speakerName(turn, cast));
  const names = new Set([cast.persona?.name || texts.person, ...cast.characters.map(calledName), ...spoke]);
  return [...names]
    .filter((name) => name !== '' && name !== me)
    .slice(0, maxNames)
    .map((name) => `\n${name}:`);
}

/** A reply without the name that models write before it, up to the first stop sequence. */
export function cleanedReply(text: string, speaker: string, stops: readonly string[]): string {
  if (speaker === '') return text;
  const begin = text.trimStart();
  const spoken = begin.startsWith(`${speaker}:`) ? begin.slice(speaker.length + 1).trimStart() : text;
  const positions = stops.map((stop) => spoken.indexOf(stop)).filter((at) => at !== -1);
  return positions.length > 0 ? spoken.slice(0, Math.min(...positions)).trimEnd() : spoken;
}

interface RawPromptOptions {
  readonly path: readonly Turn[];
  /** The reply begins with this. */
  readonly begin: string;
  readonly examples?: boolean;
}

/** The prompt in the form `Name: text`, without a chat template. */
export function namesPrompt(frame: PromptFrame, { path, begin, examples = true }: RawPromptOptions): string {
  const { speaker } = frame.cast;
  const lines = path
    .filter(({ role }) => role !== 'tool')
    .map(
      (turn) =>
        `${frame.nameOf(turn)}: ${turn.drawn === undefined ? frame.textOf(turn).trim() : prompts.picture(turn.drawn)}`,
    );
  const head = [frame.system, examples ? frame.examples : ''].filter((part) => part !== '').join('\n\n');
  const body = withInserted(lines, frame.inserted, ({ text }) => text);
  const after = frame.after === '' ? [] : [frame.after];
  const opening = `${speaker ? calledName(speaker) : ''}:${begin === '' ? '' : ` ${begin}`}`;
  return [...(head === '' ? [] : [`${head}\n***`]), ...body, ...after, opening].join('\n');
}

/** Puts each text before the last `depth` items; those of one depth keep their order. */
export function withInserted<Item>(
  items: readonly Item[],
  inserted: readonly DepthPrompt[],
  make: (one: DepthPrompt) => Item,
): Item[] {
  const result: Item[] = [];
  for (let index = 0; index <= items.length; index += 1) {
    for (const one of inserted) if (Math.max(0, items.length - Math.trunc(one.depth)) === index) result.push(make(one));
    const item = items[index];
    if (index < items.length && item !== undefined) result.push(item);
  }
  return result;
}
