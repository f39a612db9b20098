import { type Content, joinContent, type Message, plainText, text } from './messages.ts';

// Which messages of a conversation stay, are cleared or are summarised. Pure functions, for every API.

/** Stands for a result that was removed from the prompt; the call stays, so that the model can repeat it. */
export const clearedResult = '[Old tool result cleared to save context. Call the tool again if it is needed.]';

/** Results of the latest calls stay: the model is probably still working with them. */
const recentResults = 3;
/** Largest share of the budget of a first user message that stays; a longer one is summarised. */
const firstMessageShare = 0.25;

export interface CompactionInput {
  readonly messages: readonly Message[];
  /** Tokens of each message. */
  readonly sizes: readonly number[];
  /** Tokens that the messages may have afterwards. */
  readonly budget: number;
  /** Tokens of a cleared result, and of a summary at most. */
  readonly placeholder: number;
  readonly summary: number;
}

export interface CompactionPlan {
  /** Messages from here on stay as they are, so that later turns have the same prefix. */
  readonly end: number;
  /** Tool results to clear, ascending. */
  readonly clear: readonly number[];
  /** Messages that the summary replaces, ascending; empty if clearing results is enough. */
  readonly summarise: readonly number[];
  /** Tokens of all messages afterwards; more than the budget if they cannot get small enough. */
  readonly size: number;
}

/**
 * Old tool results go first, the oldest of them first, and only as many as necessary. If that is not enough, the middle is
 * summarised: system messages, the first user message and the last one stay, and as many of the last messages as fit.
 * Undefined if everything fits.
 */
export function planCompaction(input: CompactionInput): CompactionPlan | undefined {
  const { messages, sizes, budget } = input;
  const cuts = cutsOf(messages);
  let total = sum(sizes);
  if (total <= budget) return undefined;
  const clear: number[] = [];
  const remaining = [...sizes];
  for (const index of oldResults(messages, recentResults)) {
    if (total <= budget) break;
    const saved = (sizes[index] ?? 0) - input.placeholder;
    if (saved <= 0 || index >= (cuts.at(-1) ?? 0)) continue;
    clear.push(index);
    remaining[index] = input.placeholder;
    total -= saved;
  }
  const endAfter = (index: number): number => cuts.find((cut) => cut > index) ?? messages.length;
  const lastCleared = clear.at(-1) ?? -1;
  if (total <= budget || cuts.length === 0) return { end: endAfter(lastCleared), clear, summarise: [], size: total };
  const pinned = pinnedMessages(messages, sizes, budget);
  const sizeFrom = sizesFrom(remaining, pinned, input.summary);
  const cut = cuts.find((each) => sizeFrom(each) <= budget) ?? (cuts.at(-1) as number);
  const summarise = messages.flatMap((_, index) => (index < cut && !pinned.has(index) ? [index] : []));
  const clearedAfterCut = clear.filter((index) => index >= cut);
  return {
    end: Math.max(cut, clearedAfterCut.length > 0 ? endAfter(lastCleared) : 0),
    clear: clearedAfterCut,
    summarise,
    size: sizeFrom(cut),
  };
}

/** The size of the summary, the messages from a cut on and the pinned ones before it. Cuts must be in ascending order. */
function sizesFrom(sizes: readonly number[], pinned: ReadonlySet<number>, summary: number): (cut: number) => number {
  let total = summary + sum(sizes);
  let next = 0;
  return (cut) => {
    for (; next < cut; next += 1) if (!pinned.has(next)) total -= sizes[next] ?? 0;
    return total;
  };
}

function pinnedMessages(messages: readonly Message[], sizes: readonly number[], budget: number): ReadonlySet<number> {
  const first = messages.findIndex(({ role }) => role === 'user');
  const last = messages.findLastIndex(({ role }) => role === 'user');
  const system = messages.flatMap(({ role }, index) => (role === 'system' ? [index] : []));
  const isShort = (sizes[first] ?? 0) <= budget * firstMessageShare;
  return new Set([...system, ...(isShort ? [first] : []), last]);
}

/** Where a conversation can be cut: never between a call and its result. */
export function cutsOf(messages: readonly Message[]): readonly number[] {
  const callers = new Map<string, number>();
  const open = new Int32Array(messages.length + 2);
  let lastCaller = -1;
  for (const [index, message] of messages.entries()) {
    if (message.role === 'assistant' && message.toolCalls?.length) {
      lastCaller = index;
      for (const { id } of message.toolCalls) callers.set(id, index);
    }
    if (message.role !== 'tool') continue;
    const caller = callers.get(message.callId ?? '') ?? lastCaller;
    open[caller + 1] = (open[caller + 1] ?? 0) + 1;
    open[index + 1] = (open[index + 1] ?? 0) - 1;
  }
  const cuts: number[] = [];
  let depth = open[0] ?? 0;
  for (let index = 1; index < messages.length; index += 1) {
    depth += open[index] ?? 0;
    if (depth === 0) cuts.push(index);
  }
  return cuts;
}

/** The tool results but the last `keep`, and but those of excluded tools, the oldest first. */
export function oldResults(
  messages: readonly Message[],
  keep: number,
  exclude: ReadonlySet<string> = new Set(),
): readonly number[] {
  const results = messages.flatMap((message, index) =>
    message.role === 'tool' && !exclude.has(message.toolName ?? '') ? [index] : [],
  );
  const old = results.slice(0, Math.max(0, results.length - keep));
  return old.filter((index) => !isCleared(messages[index]));
}

function isCleared(message: Message | undefined): boolean {
  return message !== undefined && plainText(message.content) === clearedResult;
}

export function withClearedResults(messages: readonly Message[], indices: Iterable<number>): readonly Message[] {
  const cleared = new Set(indices);
  if (cleared.size === 0) return messages;
  return messages.map((each, index) => (cleared.has(index) ? { ...each, content: text(clearedResult) } : each));
}

/** The messages before `end` as they are shown to the model from now on. */
export function compactedPrefix(
  messages: readonly Message[],
  { end, clear, summarise }: CompactionPlan,
  summary: string,
): readonly Message[] {
  const visible = withClearedResults(messages.slice(0, end), clear);
  const last = summarise.at(-1);
  if (last === undefined) return visible;
  const replaced = new Set(summarise);
  const before = visible.filter((_, index) => index <= last && !replaced.has(index));
  // A pinned message may be between the summarised ones and the rest.
  return joinUserTurns([...before, summaryMessage(summary)], visible.slice(last + 1));
}

/** Many templates demand that the roles alternate: a user message after another one becomes part of it. */
export function joinUserTurns(before: readonly Message[], after: readonly Message[]): readonly Message[] {
  const joined: Message[] = [];
  for (const [index, message] of [...before, ...after].entries()) {
    const previous = joined.at(-1);
    const meets = index <= before.length && previous?.role === 'user' && message.role === 'user';
    if (meets) joined[joined.length - 1] = { role: 'user', content: paragraphs(previous.content, message.content) };
    else joined.push(message);
  }
  return joined;
}

const paragraphs = (...contents: readonly Content[]): Content => joinContent(contents, '\n\n');

/** A summary is shown to the model as a message of the user. */
export function summaryMessage(summary: string): Message {
  return { role: 'user', content: text(summaryText(summary)) };
}

export function summaryText(summary: string): string {
  return `The earlier part of this conversation was replaced by a summary to save context:\n<summary>\n${summary}\n</summary>`;
}

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);
