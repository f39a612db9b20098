import type { SideTask } from '../../core/clients.ts';
import type { GenerationEvent, PromptOrigin } from '../../core/events.ts';

/** Why tokens that had been computed were computed again. */
export interface Loss {
  /**
   * - `changed`: a text before the end of the last prompt is another one now;
   * - `reply`: the reply came back in another form, such as without its thinking;
   * - `trimmed`: the beginning was dropped because the context was full;
   * - `evicted`: the text was the same, but its computed state was no longer kept.
   */
  readonly cause: 'changed' | 'reply' | 'trimmed' | 'evicted';
  readonly tokens: number;
  /** Position of the first token that differs. */
  readonly at: number;
  /** A few words before the difference, and on both sides of it; empty for `evicted`. */
  readonly before: string;
  readonly was: string;
  readonly is: string;
}

/** The figures of one generation. */
export interface Turn {
  /** Milliseconds since 1970. */
  readonly time: number;
  /** Of a side request; `other` if its purpose is not known. */
  readonly task?: SideTask | 'other';
  readonly promptTokens: number;
  readonly cachedTokens: number;
  readonly computedTokens: number;
  readonly writtenTokens: number;
  /** From the arrival of the request, or the end of its last generation. */
  readonly firstTokenMs: number | undefined;
  readonly loss?: Loss;
}

type Start = Extract<GenerationEvent, { type: 'start' }>;

/** Fewer tokens are not worth a line: templates and checkpoints cost as many. */
const minLoss = 64;

/** What a turn of a known conversation had to compute again. */
export function lossOf({ origin, miss, promptTokens, cachedTokens, droppedTokens = 0 }: Start): Loss | undefined {
  const { previous } = origin ?? {};
  if (!previous) return undefined;
  const { common, relation, tokens } = previous;
  const known = Math.min(tokens, promptTokens);
  const evicted = Math.min(common, promptTokens - 1) - cachedTokens;
  const changed = relation === 'edits' || relation === 'continues' ? known - common : 0;
  const lost = droppedTokens > 0 ? known - cachedTokens : Math.max(0, evicted) + changed;
  if (lost < minLoss) return undefined;
  const texts = miss?.partedAt === common ? miss : { before: '', kept: '', wanted: '' };
  const cause =
    droppedTokens > 0 ? 'trimmed' : changed < evicted ? 'evicted' : relation === 'edits' ? 'changed' : 'reply';
  const difference =
    cause === 'evicted' ? { before: '', was: '', is: '' } : { before: texts.before, was: texts.kept, is: texts.wanted };
  return { cause, tokens: lost, at: common, ...difference };
}

interface IncomingPrompt {
  readonly session: string | undefined;
  readonly task: SideTask | undefined;
  readonly promptTokens: number;
  readonly origin: PromptOrigin | undefined;
}

interface KnownConversation {
  readonly session: string | undefined;
  /** Of its first turn. */
  readonly firstPromptTokens: number;
}

interface Candidates<Conversation extends KnownConversation> {
  /** That of the earlier prompt with the longest common beginning. */
  readonly previous: Conversation | undefined;
  readonly ofSession: Conversation | undefined;
  /** The last one of the same sender. */
  readonly latest: Conversation | undefined;
}

/**
 * Where a request belongs: by the beginning of its prompt that it shares with an earlier one; headers decide only between conversations
 * that begin alike, and for requests that share nothing with their conversation.
 */
export function assignmentOf<Conversation extends KnownConversation>(
  { session, task, origin, promptTokens }: IncomingPrompt,
  { previous, ofSession, latest }: Candidates<Conversation>,
): { readonly conversation: Conversation | undefined; readonly as: 'turn' | 'side' } {
  if (task && task !== 'compaction') return { conversation: ofSession ?? latest, as: 'side' };
  const { relation = 'other', common = 0 } = origin?.previous ?? {};
  if (previous && relation === 'continues') return { conversation: previous, as: 'turn' };
  const isOtherSession = session !== undefined && previous?.session !== undefined && session !== previous.session;
  if (previous && !isOtherSession) {
    // More than its first prompt is shared: it went back to an earlier turn.
    const isSame = relation === 'edits' || common > previous.firstPromptTokens;
    if (isSame) return { conversation: previous, as: 'turn' };
  }
  if (task) return { conversation: ofSession ?? latest, as: 'turn' };
  if (!ofSession) return { conversation: undefined, as: 'turn' };
  // A remote backend does not say what it has seen before: the header is all that there is.
  return {
    conversation: ofSession,
    as: !origin || ofSession.firstPromptTokens === 0 || common >= promptTokens / 2 ? 'turn' : 'side',
  };
}

/** Prompt tokens and the milliseconds that they took. */
export interface PromptSpeed {
  readonly tokens: number;
  readonly milliseconds: number;
}

/** Of fewer tokens most of the time is overhead. */
const minMeasured = 32;
/** Then older measurements count half. */
const maxMeasured = 100_000;

/** The measured prompt speed of a model after another prompt. */
export function measured(
  speed: PromptSpeed | undefined,
  tokens: number,
  milliseconds: number,
): PromptSpeed | undefined {
  if (tokens < minMeasured || milliseconds <= 0) return speed;
  const [oldTokens, oldMilliseconds] = speed ? [speed.tokens, speed.milliseconds] : [0, 0];
  const share = oldTokens > maxMeasured ? 0.5 : 1;
  return { tokens: oldTokens * share + tokens, milliseconds: oldMilliseconds * share + milliseconds };
}

/** How long the model takes to compute this many prompt tokens; null if it was not measured yet. */
export function secondsFor(tokens: number, speed: PromptSpeed | undefined): number | null {
  return speed ? (tokens * speed.milliseconds) / speed.tokens / 1000 : null;
}
