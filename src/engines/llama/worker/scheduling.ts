/**
 * The heuristics of scheduling in the worker: which sequences share a batch, how much of a prompt is prefilled, padding, slots, drafts,
 * threads, and which states are kept. Each constant has its reason; docs/figures.md has tables of what each heuristic gives.
 */

/** The switches of what `decide` and `chooseSlot` do; the simulator turns them off one by one (`npm run bench -- scheduling`). */
export const heuristics = {
  severalPrefills: true,
  shortChunks: true,
  shortestPrompt: true,
  sharedPrefill: true,
  padding: true,
  draftPauses: true,
  draftHistory: true,
  fewDraftingSequences: true,
  draftBlocks: true,
  minDraft: true,
  editedChats: true,
  copiedPrefix: true,
  adjacentSlots: true,
  joinedRuns: true,
  longestRun: true,
  recentSlots: true,
  fewSlots: true,
  shortSequences: true,
} as const;

export type Switches = Readonly<Record<keyof typeof heuristics, boolean>>;

export const batching = {
  /**
   * The largest batch that is decoded on the main thread: a thread switch would take longer than computing it. On a GPU the call only
   * enqueues the batch, so larger ones do not block either.
   */
  maxInlineBatch: { cpu: 63, gpu: 255 },
  /**
   * The longest time that text may wait for that of the next step: a message per step costs more CPU time than the reader gains. Longer
   * if the server shares its cores with the worker, whose threads all wait at a barrier while the server runs.
   */
  maxFlushDelayMs: { sharedCores: 25, ownCores: 6 },
  /** After this time no further prompt is begun in the same step: active sequences must not pause noticeably. */
  maxPrefillMs: 200,
  /** Size of the first prefill chunk while other sequences decode; it then follows the target duration. */
  firstChunk: 128,
  /** Target duration of a prefill step while other sequences decode: short enough that readers hardly notice the pause. */
  targetStepMs: 80,
  /** Attention over fewer rows uses another code path of the library, with other rounding. */
  minChunk: 64,
} as const;

export const padding = {
  /** The largest gap to pad: a pass over the weights of a small model costs about as much as this many more rows. */
  maxGap: { cpu: 3, gpu: 12 },
} as const;

export const slots = {
  /** A prompt that discards at most this many cached tokens continues the chat: computing them again is not noticeable. */
  maxDiscarded: 32,
  /** So does one that shares this part of the last prompt: a retry or another last message. */
  minOverlap: 0.9,
  /** A shared passage is at least this long: shorter ones are common phrases of unrelated chats. */
  minPassage: 24,
  /** With this many slots every gap between active ones can be padded (`padding.maxGap`), so no chat is evicted while a slot is empty. */
  maxFewSlots: 5,
  /** The least recently used part of the free slots; the others hold chats that probably continue. */
  evictableShare: 0.75,
  /** The shortest prefix to copy: computing a shorter one is as fast. */
  minCopy: 64,
  /** A shorter common prefix is not reused: it saves no noticeable time. */
  minReuse: 4,
  /** Recomputing up to this many tokens is cheaper than an extra forward pass per step. */
  maxRecompute: 512,
} as const;

export const pool = {
  /** Free cells required for the reply to a prompt: with fewer it would soon be parked. */
  headroom: 256,
  /** A copy of a held sequence takes at most this share of the free memory. */
  maxHeldShare: 0.25,
} as const;

/** Checkpoints of a memory that cannot be rewound to any token. */
export const checkpoints = {
  /** Of one slot. */
  maxCount: 8,
  /** Of all slots, and the least that one slot may take. */
  maxBytes: 2 * 2 ** 30,
  minSlotBytes: 256 * 2 ** 20,
  /** The first index with a checkpoint: fewer tokens are computed faster than saved. */
  minIndex: 32,
  /** Tokens between two checkpoints of a reply: the most that a rewind into the reply computes again. */
  replyInterval: 256,
} as const;

/** States of evicted sequences in memory. */
export const keptStates = {
  /** Without `--smartcache`: some chats, and the requests between their turns. */
  maxCount: 32,
  /** However much memory is free. */
  maxBytes: 8 * 2 ** 30,
  /** A few short chats fit on any machine. */
  minBytes: 64 * 2 ** 20,
  /** Memory to leave free, unless a quarter is more. */
  minFreeBytes: 2 ** 30,
  /** A state must save at least this many tokens more than the slots do: restoring takes time. */
  minSaved: 64,
  /** Added to every age: among the states of one minute, length and use decide which is dropped. */
  ageOffsetMs: 60_000,
  /** A state is copied out and in again; the third copy accounts for states that are never used again. */
  copiesPerUse: 3,
  /** Assumed until the first copy: one gigabyte a second. */
  firstCopy: { amount: 2 ** 24, milliseconds: 16 },
  /** A copy that seems slower than 500 megabytes a second had to wait for other programs, which delay computing as much. */
  maxMsPerByte: 2e-6,
  /** The time of fewer tokens is mostly that of a single step. */
  minMeasured: 32,
  /** A state that is computed in less time is short: losing it is hardly noticed, but copying hundreds of such states is. */
  shortMs: 1000,
  /** How many short states are kept since a state was last restored, and the pause after which one more is kept. */
  maxUnused: 32,
  unusedPauseMs: 20_000,
} as const;

export const drafts = {
  /** Matrix kernels of ARM processors compute this many rows of a batch at once, and the remaining rows one by one; others any number. */
  rowsPerKernel: { arm64: 4, other: 1 },
  /** With several sequences, drafts of fewer tokens per sequence hardly ever pay off. */
  minTokensPerSequence: 2,
  /** The longest pause between drafts, in steps: by then the reply may have become predictable. */
  maxPauseSteps: 128,
  /** Two rejected drafts in a row are treated as noise; more are a trend, and drafting pauses. */
  maxRejectedInARow: 2,
  /** A new request starts with at most this many rejections of earlier requests: it drafts again after 16 steps at the latest. */
  maxInheritedRejections: 6,
} as const;

export const predictions = {
  /** Layers for multi-token prediction compute this many tokens of a prompt at once; fewer wait for the next draft. */
  maxPending: 256,
} as const;

/** The switches of `ThreadCount`, which decides how many threads compute a step. */
export const threadHeuristics = {
  /** Fewer threads are tried after slow steps. */
  slowSteps: true,
  /** They are watched for contention first, where the system reports it. */
  watchBeforeTrial: true,
  /** After each failed trial, slow steps may lose more before the next one. */
  backoff: true,
  /** Fewer threads are tried from time to time, too: steps may have been slow from the start. */
  regularTrials: true,
  /** Every second trial is with half or with all of the threads, instead of with one more or less. */
  jumps: true,
  /** A trial that is much faster ends after one step. */
  obviousWins: true,
  /** More threads are tried as soon as steps become faster. */
  relief: true,
} as const;

export type ThreadSwitches = Readonly<Record<keyof typeof threadHeuristics, boolean>>;

export const threads = {
  /** After a pause of this length, other programs may have started or ended: earlier times are not comparable. */
  pauseMs: 2000,
  /** How much of a pause counts for the clock: so little that single steps with long pauses do not each start a trial. */
  pauseShare: 0.03,
  /** A step is slow from this multiple of the baseline on: times of undisturbed steps vary by less. */
  slowRatio: 1.5,
  /** Below this part of the baseline, another program must have ended: undisturbed steps do not become faster by that much. */
  reliefRatio: 0.8,
  /** How fast the baseline follows faster steps, per step. */
  baselineGain: 0.05,
  /** How fast it follows slower ones: hardly, or contention would become the baseline; quickly where steps grow, as in a long prompt. */
  baselineDrift: { steady: 0.002, growing: 0.3 },
  /** When to try again after a success. */
  retryMs: 250,
  /** Steps to watch after a change: the system may let all threads share one core for a second, but not in each step of it. */
  watchedSteps: 12,
  /** Until fewer threads are tried for the first time, if contention is detected without a trial. */
  firstTrialMs: 2000,
  /** The pause after a failed trial, as a multiple of its loss: trials cost less than 4 % of the time, and later less than 2 %. */
  waitPerLoss: 25,
  /** Its bounds: the upper one is how long it may take until free cores are used again. */
  minWaitMs: 1000,
  maxWaitMs: 30_000,
  /** How much longer it is before fewer threads are tried again, if contention is detected without a trial. */
  downWaitRatio: 4,
  /** From this number of failed trials on, slow steps may not lose more before the next one. */
  maxFailures: 5,
} as const;

export const trials = {
  /** A step wins below this part of the compared time: smaller differences are noise. */
  fasterRatio: 0.92,
  /** Steps until a number has won, and until a width class has a median to compare with. */
  minSteps: 3,
  /** One step is enough if the current number is this many times slower and this much time was saved: then the cause is obvious. */
  verySlowRatio: 4,
  obviousGainMs: 300,
} as const;

export const contention = {
  /** Windows in a row with waiting threads: many requests at once keep server and clients busy for a shorter time. */
  minWindows: 3,
  windowMs: 25,
  /** A step that ran undisturbed for this long is not aborted any more: computing it again would cost too much. */
  maxWatchMs: 250,
  /** A thread is contended from this part of the window on: one that shares its core with another program waits half of the time. */
  minWaitingShare: 0.3,
} as const;

export const samplers = {
  /** Waking more threads takes longer than they save: with 32 sequences and 152,000 tokens, 11 beat 7 and 15. */
  maxThreads: 11,
  /** With a smaller vocabulary, sampling takes less time than waking a thread. */
  minVocabulary: 16_000,
  /** How long the main thread spins for a result before it sleeps: results usually arrive sooner, and waking up takes longer than that. */
  spinMs: 2,
  /** A thread without a result after this time counts as lost: sampling takes milliseconds. */
  timeoutMs: 20_000,
} as const;
