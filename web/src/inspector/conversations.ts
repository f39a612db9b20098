/** Why tokens were computed again: the words of the server. */
export type Cause = 'changed' | 'reply' | 'trimmed' | 'evicted';

export interface Loss {
  readonly cause: Cause;
  readonly tokens: number;
  readonly seconds: number | null;
  /** Position of the first token that differs. */
  readonly at: number;
  readonly before: string;
  readonly was: string;
  readonly is: string;
}

interface Counts {
  readonly cached_tokens: number;
  readonly computed_tokens: number;
  readonly written_tokens: number;
}

export interface Turn extends Counts {
  readonly time: string;
  /** For a request beside the turns, and for a compaction. */
  readonly task: string | null;
  readonly prompt_tokens: number;
  readonly first_token_ms: number | null;
  readonly loss: Loss | null;
}

export interface Conversation extends Counts {
  readonly number: number;
  readonly client: string;
  readonly key: string | null;
  readonly model: string;
  readonly sub_agent: boolean;
  readonly started: string;
  readonly turns: number;
  readonly side_requests: number;
  readonly saved_seconds: number | null;
  readonly lost_seconds: number | null;
  readonly history: readonly Turn[];
}

/** `GET api/extra/conversations`. */
export interface Reported {
  /** False with `--noagentreport`. */
  readonly enabled: boolean;
  readonly conversations: readonly Conversation[];
}

interface ClientGroup {
  readonly client: string;
  readonly conversations: readonly Conversation[];
  readonly savedSeconds: number;
  readonly lostSeconds: number;
}

/** Conversations by client, in the order of their last turn. */
export function byClient(conversations: readonly Conversation[]): readonly ClientGroup[] {
  const groups = new Map<string, Conversation[]>();
  for (const one of conversations) groups.set(one.client, [...(groups.get(one.client) ?? []), one]);
  return [...groups].map(([client, own]) => ({
    client,
    conversations: own,
    savedSeconds: own.reduce((sum, { saved_seconds: seconds }) => sum + (seconds ?? 0), 0),
    lostSeconds: own.reduce((sum, { lost_seconds: seconds }) => sum + (seconds ?? 0), 0),
  }));
}

interface TurnLoss {
  readonly conversation: Conversation;
  readonly loss: Loss;
  /** How many turns lost tokens at the same text. */
  readonly times: number;
  readonly tokens: number;
  readonly seconds: number | null;
}

/** What lost the most, the same line of a conversation once. */
export function worstLosses(conversations: readonly Conversation[], count: number): readonly TurnLoss[] {
  const losses = new Map<string, TurnLoss>();
  for (const conversation of conversations) {
    for (const { loss } of conversation.history) {
      if (!loss) continue;
      const key = JSON.stringify([conversation.number, loss.cause, loss.before]);
      const known = losses.get(key) ?? { times: 0, tokens: 0, seconds: 0 };
      const seconds = loss.seconds === null || known.seconds === null ? null : known.seconds + loss.seconds;
      losses.set(key, { conversation, loss, times: known.times + 1, tokens: known.tokens + loss.tokens, seconds });
    }
  }
  return [...losses.values()].sort((one, other) => other.tokens - one.tokens).slice(0, count);
}

/** A date, a time or a weekday, as system prompts have it. */
const clock =
  /\d{1,2}:\d\d|\d{4}-\d\d|\b(mon|tues|wednes|thurs|fri|satur|sun)day\b|\b(january|february|march|april|may|june|july|august|september|october|november|december)\b/i;

/** Which advice fits a loss. */
export function adviceOf({ cause, before, was, is }: Loss): Cause | 'clock' {
  return cause === 'changed' && clock.test(`${before}${was}\n${before}${is}`) ? 'clock' : cause;
}

interface BarPart {
  readonly name: 'cached' | 'lost' | 'computed' | 'written';
  readonly from: number;
  readonly width: number;
}

/** The parts of a bar, of 1000 in all for the longest turn. What was lost is a part of what was computed. */
export function barParts(turn: Turn, longest: number): readonly BarPart[] {
  const lost = Math.min(turn.loss?.tokens ?? 0, turn.computed_tokens);
  const tokens = [
    ['cached', turn.cached_tokens],
    ['lost', lost],
    ['computed', turn.computed_tokens - lost],
    ['written', turn.written_tokens],
  ] as const;
  const parts: BarPart[] = [];
  let from = 0;
  for (const [name, count] of tokens) {
    const width = (count / Math.max(1, longest)) * 1000;
    if (width > 0) parts.push({ name, from, width });
    from += width;
  }
  return parts;
}

export function longestTurn(history: readonly Turn[]): number {
  return Math.max(0, ...history.map((turn) => turn.cached_tokens + turn.computed_tokens + turn.written_tokens));
}

/** The numbers of the turns in a history, of which the first ones may be missing; none for side requests. */
export function numbered({ history, turns }: Pick<Conversation, 'history' | 'turns'>) {
  const isTurn = ({ task }: Turn): boolean => task === null || task === 'compaction';
  let number = turns - history.filter(isTurn).length;
  return history.map((turn) => ({ turn, number: isTurn(turn) ? ++number : undefined }));
}
