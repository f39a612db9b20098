import { batching, drafts, heuristics, padding, type Switches } from './scheduling.ts';

const { targetStepMs, minChunk, maxPrefillMs } = batching;
const { minTokensPerSequence, maxPauseSteps, maxRejectedInARow, maxInheritedRejections } = drafts;

/** A sequence of the context, and how much of it is computed. */
interface SequenceState {
  readonly sequence: number;
  readonly computed: number;
  readonly capacity: number;
}

/** A running generation, as far as scheduling depends on it. */
interface RunningState {
  readonly slot: SequenceState;
  /** Tokens that are left to compute. */
  readonly remaining: number;
  readonly inPrefill: boolean;
  /** Its prompt must not share a batch with others. */
  readonly prefillsAlone: boolean;
  /** Undefined if it has no drafts. */
  readonly draft: DraftState | undefined;
}

export interface SchedulingState<Running extends RunningState> {
  /** Oldest first. */
  readonly running: readonly Running[];
  /** The sequences that may get a padding token. */
  readonly slots: readonly Running['slot'][];
  readonly batchCapacity: number;
  /** Each generation is computed alone: its tokens must not depend on other requests (see `steadyPortion`). */
  readonly isolated: boolean;
  readonly onGpu: boolean;
  /** Size of a prefill chunk while other sequences decode. */
  readonly chunk: number;
  /** How many prefills were decided so far. */
  readonly prefills: number;
  /** Undefined at the start of a step. Later only a further prefill is decided. */
  readonly begun?: BegunStep | undefined;
}

export interface BegunStep {
  /** Whether sequences have decoded in it. */
  readonly busy: boolean;
  /** 0 before its first prefill. */
  readonly prefillMs: number;
  /** The last prompt has not been prefilled to its end. */
  readonly unfinished: boolean;
}

export type Step<Running extends RunningState> = ReturnType<typeof decide<Running>>;
export type Batch<Running extends RunningState> = ReturnType<typeof batchOf<Running>>;

/** The next step: first one token for each generation in decode, then prefill: whole batches if nothing decodes, otherwise a short chunk. */
export function decide<Running extends RunningState>(state: SchedulingState<Running>, on: Switches = heuristics) {
  const { running, slots, batchCapacity, isolated, onGpu, begun } = state;
  const decoding = begun ? [] : running.filter(({ inPrefill }) => !inPrefill);
  const hasTime =
    !begun || (!begun.unfinished && (on.severalPrefills ? begun.prefillMs < maxPrefillMs : begun.prefillMs === 0));
  const prompts = hasTime ? running.filter(({ inPrefill }) => inPrefill) : [];
  const limit = on.shortChunks && (begun?.busy ?? decoding.length > 0) ? state.chunk : batchCapacity;
  const prompt = nextPrefill(prompts, on.shortestPrompt ? state.prefills : 0);
  const together = prompt && (isolated || !on.sharedPrefill ? [prompt] : prefillTogether(prompt, prompts, limit));
  const active = decoding.map(({ slot }) => slot);
  const padded = isolated || !on.padding ? [] : paddingSlots(active, slots, padding.maxGap[onGpu ? 'gpu' : 'cpu']);
  const groups = isolated ? decoding.map((one) => [one]) : decoding.length > 0 ? [decoding] : [];
  return {
    decode: groups.map((group) => batchOf(group, padded, batchCapacity, batchCapacity, on)),
    prefill: together && batchOf(together, [], batchCapacity, limit, on),
  };
}

/** A batch with equal shares of its capacity: at most `limit` tokens of each generation, and at most `draft` drafted ones. */
export function batchOf<Running extends RunningState>(
  generations: readonly Running[],
  padded: readonly Running['slot'][],
  batchCapacity: number,
  limit: number,
  on: Switches = heuristics,
) {
  const share = Math.min(limit, Math.floor(batchCapacity / (generations.length + padded.length)));
  const rows = generations.map((generation) => {
    const { draft, inPrefill } = generation;
    return {
      generation,
      limit: share,
      draft: draft && !inPrefill ? draftLength(draft, generations.length, on) : 0,
    };
  });
  return { rows, padding: padded };
}

/** The prompt to continue with: alternately the oldest and the shortest, so that neither kind waits for the other. */
export function nextPrefill<Prefill extends { readonly remaining: number }>(
  oldestFirst: readonly Prefill[],
  turn: number,
): Prefill | undefined {
  const [oldest] = oldestFirst;
  if (!oldest || turn % 2 === 0) return oldest;
  return oldestFirst.reduce((shortest, prompt) => (prompt.remaining < shortest.remaining ? prompt : shortest), oldest);
}

type Prefill = Pick<RunningState, 'remaining' | 'prefillsAlone'>;

/** The given prompt and the shortest others that fit whole into the same batch, which is divided into equal shares. */
export function prefillTogether<One extends Prefill>(
  prompt: One,
  prompts: readonly One[],
  limit: number,
): readonly One[] {
  const together = [prompt];
  if (prompt.prefillsAlone) return together;
  let maxRemaining = prompt.remaining;
  const others = prompts.filter((other) => other !== prompt && !other.prefillsAlone);
  for (const other of others.sort((a, b) => a.remaining - b.remaining)) {
    maxRemaining = Math.max(maxRemaining, other.remaining);
    if (maxRemaining * (together.length + 1) > limit) break;
    together.push(other);
  }
  return together;
}

/** The next prefill chunk while other sequences decode: approaches the target by a factor of at most two. */
export function nextChunk(chunk: number, stepMs: number, max: number): number {
  const factor = Math.min(2, Math.max(0.5, targetStepMs / Math.max(1, stepMs)));
  return Math.min(max, Math.max(minChunk, Math.round(chunk * factor)));
}

/**
 * The idle slots between active ones that get a padding token: the library computes only consecutive sequences in one pass over the
 * weights. No slot is longer than the longest active one, because attention over a long sequence costs more than a saved pass.
 */
export function paddingSlots<One extends SequenceState>(
  active: readonly One[],
  all: readonly One[],
  maxGap: number,
): One[] {
  const longest = Math.max(...active.map(({ computed }) => computed));
  const padded: One[] = [];
  let gap: One[] = [];
  let begun = false;
  for (const slot of [...all].sort((a, b) => a.sequence - b.sequence)) {
    if (!active.includes(slot)) {
      gap.push(slot);
      continue;
    }
    const isCheap = gap.every(({ computed, capacity }) => computed < capacity && computed <= longest);
    if (begun && gap.length <= maxGap && isCheap) padded.push(...gap);
    begun = true;
    gap = [];
  }
  return padded;
}

/** The success of the last drafts of a generation, which determines the next one. */
export interface DraftState {
  readonly max: number;
  /** Rows that a kernel computes together: a draft should fill whole blocks. */
  readonly blockRows: number;
  readonly length: number;
  readonly rejectedInARow: number;
  /** Steps without a draft. */
  readonly pause: number;
}

/** A new request starts where the last one ended. */
export function firstDraft(
  max: number,
  blockRows: number,
  rejectedBefore: number,
  on: Switches = heuristics,
): DraftState {
  const rejectedInARow = on.draftHistory ? Math.min(rejectedBefore, maxInheritedRejections) : 0;
  const length = Math.max(1, max >> rejectedInARow);
  return { max, blockRows, length, rejectedInARow, pause: pauseAfter(rejectedInARow) };
}

/**
 * The length of the next draft: drafts cost time and pay off only while they are accepted. In a batch of several sequences the drafted
 * tokens need a forward pass of their own, which all sequences wait for: a draft pays off if at least one token per sequence is accepted.
 */
export function draftLength(
  { max, blockRows, length, pause }: DraftState,
  sequences: number,
  on: Switches = heuristics,
): number {
  if (on.draftPauses && pause > 0) return 0;
  if (on.fewDraftingSequences && sequences > 1 && sequences * minTokensPerSequence > max) return 0;
  // For a single sequence, the token before the draft is in the same pass.
  const rows = on.draftBlocks ? blockRows : 1;
  if (sequences === 1) return wholeBlocks(length + 1, max + 1, rows) - 1;
  return wholeBlocks(on.minDraft ? Math.max(length, sequences) : length, max, rows);
}

/** After a step with this many sequences, and the numbers of accepted and rejected drafted tokens in it. */
export function afterDraft(state: DraftState, sequences: number, accepted: number, rejected: number): DraftState {
  const { max, length } = state;
  if (accepted + rejected === 0) return state.pause > 0 ? { ...state, pause: state.pause - 1 } : state;
  if (accepted >= sequences) {
    const next = rejected === 0 ? Math.max(accepted, length) * 2 : accepted + 1;
    return { ...state, rejectedInARow: 0, length: Math.min(max, next) };
  }
  // Every sequence of the batch has waited for the rejected draft.
  const rejectedInARow = state.rejectedInARow + sequences;
  return { ...state, rejectedInARow, length: Math.max(1, length >> 1), pause: pauseAfter(rejectedInARow) };
}

/** Rounds to whole blocks of rows; one or two rows stay as they are. */
function wholeBlocks(rows: number, max: number, blockRows: number): number {
  if (rows <= 2 || max < blockRows) return Math.min(rows, max);
  const blocks = Math.min(Math.round(rows / blockRows), Math.floor(max / blockRows));
  return Math.max(1, blocks) * blockRows;
}

function pauseAfter(rejectedInARow: number): number {
  return rejectedInARow > maxRejectedInARow ? Math.min(2 ** (rejectedInARow - maxRejectedInARow), maxPauseSteps) : 0;
}
