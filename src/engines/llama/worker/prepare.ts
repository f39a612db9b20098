import { AppError } from '../../../core/errors.ts';
import { abortedUnstarted } from '../../../core/events.ts';
import { adapterScales } from '../../../core/lora.ts';
import type { GenerationRequest } from '../../../core/request.ts';
import { inSlices } from '../../../core/slices.ts';
import { splitBans } from '../../../sampling/bans.ts';
import { type DryBreakers, dryBreakers } from '../../../sampling/dry.ts';
import { ReasoningBudget, type ReasoningTags } from '../../../sampling/reasoning-budget.ts';
import { Sampler, type SamplerOptions } from '../../../sampling/sampler.ts';
import type { FromWorker, Piece, ToWorker } from '../messages.ts';
import type { SnapshotCache } from './cache/snapshot-cache.ts';
import { drafter } from './draft.ts';
import { Generation } from './generation.ts';
import type { GrammarCache } from './grammar.ts';
import type { Loaded } from './load/model.ts';
import { type BatchLoop, errorPiece } from './loop.ts';
import type { LoraTurns } from './lora-turns.ts';
import {
  findSpans,
  markTokens,
  mentionAll,
  type PromptTexts,
  placeMedia,
  type ReadMedium,
} from './media/media-prompt.ts';
import { readMedia } from './media/projector.ts';
import type { CellNeed, CellPool } from './memory/cell-pool.ts';
import type { PromptHistory } from './memory/prompt-history.ts';
import { PromptScores } from './memory/prompt-scores.ts';
import type { Slot } from './memory/slot.ts';
import { chooseSlot } from './memory/slot-choice.ts';
import { commonPrefix, planReuse } from './memory/snapshot.ts';
import { SamplerPool, samplerThreads } from './sampler-threads/sampler-pool.ts';
import { OutputText } from './text/output-text.ts';
import { type MarkedTokens, type PromptPlan, planPrompt } from './text/prompt.ts';
import { checkedTokens, type Vocabulary } from './text/vocabulary.ts';

/** The smallest context that a request may limit itself to: room for a few tokens of prompt and reply. */
const minContext = 16;

/** The state of the worker between requests, besides the cache in the slots. */
export interface WorkerContext {
  readonly loaded: Loaded;
  readonly slots: readonly Slot[];
  readonly negative: Slot | undefined;
  readonly now: () => number;
  readonly grammars: GrammarCache;
  /** The last DRY breakers: computing them reads the whole vocabulary. */
  breakers: { readonly strings: string; readonly tokens: DryBreakers } | undefined;
  reasoning: ReasoningSetup | undefined | 'unknown';
  /** Where sequences share their cells. */
  readonly pool: CellPool | undefined;
  /** Requests with different adapters do not run together, and share nothing that is cached. */
  readonly adapters: LoraTurns;
  /** Set once its stores are open, and while the adapters are those of the start. */
  snapshots: SnapshotCache | undefined;
  /** Started with the second concurrent request, if sampling on several threads pays off. */
  samplers: SamplerPool | undefined;
  readonly history: PromptHistory;
}

/** Requests that have no slot yet: their media, prompt or snapshot is being read. */
export type ReadingRequests = Map<number, { stop(): void }>;

type GenerateMessage = ToWorker & { type: 'generate' };

interface BeginDeps {
  readonly worker: WorkerContext;
  readonly loop: Pick<BatchLoop, 'add' | 'beforeNextBatch' | 'between'>;
  readonly reading: ReadingRequests;
  readonly send: (message: FromWorker) => void;
}

/** Reads media, prompt and snapshot while other requests run, then takes a slot between two batches. */
export async function beginGeneration({ worker, loop, reading, send }: BeginDeps, message: GenerateMessage) {
  const { id, request, seed } = message;
  const pieces: Piece[] = [];
  /** It was aborted, has failed, or runs. */
  let over = false;
  let leavePool = () => {};
  let leaveAdapters = () => {};
  const leave = (last: readonly Piece[]): void => {
    if (over) return;
    over = true;
    reading.delete(id);
    send({ type: 'step', pieces: last });
  };
  const none = { promptTokens: 0, cachedTokens: 0, maxTokens: 0, droppedTokens: 0 };
  const aborted: Piece = { id, ...abortedUnstarted };
  // Reading is not interrupted, but the client does not wait for its end.
  reading.set(id, { stop: () => leave([{ type: 'start', id, ...none, seed }, aborted]) });
  try {
    const exclusively: BatchLoop['between'] = (work) => loop.between(work);
    const media = await readMedia(worker.loaded.projector, request.media, exclusively, () => over);
    if (!media) return;
    const setting = adapterSetting(worker, request);
    const planned = await planGeneration(worker, message, media, pieces);
    if (request.grammar && !over) await inSlices(worker.grammars.prepare(request.grammar));
    if (!over) leaveAdapters = await worker.adapters.enter(setting, () => over);
    if (worker.pool && !over) leavePool = await worker.pool.enter(() => (over ? undefined : cellNeed(worker, planned)));
    // If the cache fails, the prompt is computed.
    const served = media.length === 0 && reuses(worker, request);
    if (served && !over) await worker.snapshots?.restoreFor(planned.plan.tokens).catch(() => undefined);
    loop.beforeNextBatch(() => {
      leavePool();
      if (over) {
        leaveAdapters();
        return;
      }
      try {
        const generation = startGeneration(worker, planned, leaveAdapters);
        leave([generation.start(), ...pieces]);
        loop.add(generation);
      } catch (error) {
        leaveAdapters();
        leave([...pieces, errorPiece(id, error)]);
      }
    });
  } catch (error) {
    leavePool();
    leaveAdapters();
    leave([...pieces, errorPiece(id, error)]);
  }
}

/** What the prompt takes of the pool. */
function cellNeed({ slots, loaded }: WorkerContext, { plan }: Planned): CellNeed<Slot> {
  const { isControl } = loaded.vocabulary;
  const choice = chooseSlot(slots, { prompt: plan.tokens, canCopy: true, isControl });
  const copied = choice?.copyFrom && loaded.context.memory === 'plain' ? choice.reusable : 0;
  return { cells: plan.tokens.length - copied, replaces: choice?.slot, copies: choice?.copyFrom };
}

/** A request whose prompt is known in tokens; it has no slot yet. */
type Planned = Awaited<ReturnType<typeof planGeneration>>;

/** Tokenizes the request. Throws an error that names an invalid field. */
async function planGeneration(
  worker: WorkerContext,
  { id, request, seed }: GenerateMessage,
  media: readonly ReadMedium[],
  pieces: Piece[],
) {
  const { loaded, now } = worker;
  const startedAt = now();
  const warn = (code: string, text: string) => pieces.push({ type: 'warning', id, code, text });
  const bans = splitBans(request.bannedStrings, samplingVocabulary(loaded.vocabulary));
  if (bans.dropped > 0)
    warn('bans-dropped', `${bans.dropped} of the banned strings are beyond the limit and have no effect.`);
  const negativeTokens = await negativePrompt(worker, request);
  if (negativeTokens && media.length > 0) throw withoutMedia('A negative prompt');
  if (request.promptLogprobs !== undefined && media.length > 0) throw withoutMedia('Figures of the prompt');
  const plan = await promptPlan(loaded, request, media, negativeTokens?.length ?? 0);
  if (plan.dropped > 0) {
    const text = `${plan.dropped} tokens at the beginning of the prompt did not fit into the context and were dropped.`;
    warn('prompt-trimmed', text);
  }
  const spans = findSpans(plan.tokens, media);
  const lost = media.filter(({ parts }) => !spans.some(({ chunk }) => parts.includes(chunk))).length;
  if (lost > 0) warn('media-dropped', `${lost} of the ${media.length} attached media did not fit and were left out.`);
  return { id, request, seed, startedAt, warn, plan, spans, bans, negativeTokens };
}

/** Takes a slot for a planned request and creates its generation. The slot is released if that fails. */
function startGeneration(worker: WorkerContext, planned: Planned, leaveAdapters: () => void): Generation {
  const slot = takeSlot(worker, planned, reuses(worker, planned.request));
  try {
    return createGeneration(worker, planned, slot, leaveAdapters);
  } catch (error) {
    slot.finish();
    throw error;
  }
}

function createGeneration(worker: WorkerContext, planned: Planned, slot: Slot, leaveAdapters: () => void): Generation {
  const { request, plan, bans, negativeTokens } = planned;
  const { loaded, now } = worker;
  const { vocabulary } = loaded;
  const grammar = request.grammar && worker.grammars.take(request.grammar);
  const reused = reuses(worker, request);
  const canShift = loaded.options.contextShift && loaded.context.canShift;
  const reuse = planReuse(reused ? slot.cached : slot.cached.subarray(0, 0), plan, loaded.contextSize, canShift);
  const keep = shiftAndReuse(slot, reuse, planned.warn);
  slot.begin(plan.tokens, keep, planned.spans);
  const cachedTokens = slot.computed;
  const known = reused ? worker.history.record(plan.tokens, cachedTokens) : undefined;
  const budget = reasoningBudget(worker, request, plan);
  const negative = negativeTokens && worker.negative;
  // With guidance both sequences advance together and cannot stop for checkpoints.
  if (!negative && (loaded.options.reusePrompt || bans.phrases.length > 0)) {
    slot.planCheckpoints((index) => vocabulary.isControl(plan.tokens[index] ?? -1));
  }
  if (negative && negativeTokens) {
    const start = plan.tokens[0] === vocabulary.bos ? 1 : 0;
    negative.begin(Int32Array.from([...negativeTokens, ...plan.tokens.subarray(start)]), 0);
  }
  const { promptLogprobs: alternatives } = request;
  const scores = alternatives === undefined ? undefined : new PromptScores(vocabulary, plan, alternatives);
  if (scores) slot.scored = plan.tokens.length - 1;
  const draft = drafter(loaded, request, slot.sequence);
  const options: SamplerOptions = {
    vocabularySize: vocabulary.size,
    contextSize: loaded.contextSize,
    seed: planned.seed,
    logitBias: request.logitBias,
    bannedTokens: [...request.bannedTokens, ...bans.tokens],
    ...(request.endTokens === 'ban' ? { endTokens: vocabulary.endTokens } : {}),
    ...dryOption(worker, request),
    ...(grammar ? { grammar } : {}),
    keepDistribution: request.logprobs !== undefined,
  };
  // A request that needs more than its own row of logits and its tokens is sampled on the main thread.
  const alone = !grammar && !negative && !scores && planned.spans.length === 0;
  const pool = alone && request.logprobs === undefined ? samplerPool(worker) : undefined;
  const onThread = pool?.sampler(request.sampling, options, slot.tokens);
  return new Generation({
    ...planned,
    vocabulary,
    slot,
    negative,
    sampler: onThread ?? new Sampler(request.sampling, options),
    grammar,
    budget,
    output: new OutputText(vocabulary, request, bans),
    stopTokens: silentStops(vocabulary, request),
    cachedTokens,
    known,
    scores,
    draft,
    now,
    ended: () => {
      if (known) worker.history.ended(known.origin, slot.tokens.subarray(0, slot.computed));
      pool?.leave(onThread);
      if (grammar) worker.grammars.giveBack(grammar);
      // A sequence that could not be saved is computed again.
      worker.snapshots?.ended(slot).catch(() => undefined);
      leaveAdapters();
    },
  });
}

function samplerPool(worker: WorkerContext): SamplerPool | undefined {
  const { info, options, vocabulary } = worker.loaded;
  if (worker.samplers || worker.slots.filter(({ busy }) => busy).length < 2) return worker.samplers;
  const shape = { vocabularySize: vocabulary.size, sequences: options.sequences, gpuLayers: info.gpuLayers };
  const threads = samplerThreads(shape);
  if (threads > 0) worker.samplers = new SamplerPool(shape, threads);
  return worker.samplers;
}

async function promptPlan(
  { vocabulary, contextSize, info }: Loaded,
  request: GenerationRequest,
  media: readonly ReadMedium[],
  negativeLength: number,
): Promise<PromptPlan> {
  const tokens = async (part: string) =>
    part === '' ? new Int32Array(0) : vocabulary.tokenizeAside(part, { addSpecial: false });
  const sent = request.promptTokens && sentTokens(request, request.promptTokens, vocabulary);
  const texts = mentionAll(sent ? { prompt: '', memory: request.memory } : request, media);
  const text = sent ? texts : withFamilyPrefix(info.chatTemplate, texts);
  const { prompt, memory } =
    media.length > 0 ? placeMedia(text, media) : { prompt: [text.prompt], memory: [text.memory] };
  const limit = Math.min(request.maxContext ?? contextSize, contextSize);
  const plan = planPrompt(
    {
      prompt: sent ?? (await markTokens(prompt, tokens)),
      memory: await markTokens(memory, tokens),
      negativeLength,
      bos: vocabulary.addsBos && !(sent && text.memory === '') ? vocabulary.bos : undefined,
    },
    {
      contextSize: Math.min(contextSize, Math.max(minContext, limit)),
      maxTokens: request.maxTokens,
      // Logprobs of a trimmed prompt would be those of another prompt.
      overflow: request.promptLogprobs === undefined ? request.overflow : 'refuse',
    },
  );
  // The opening marks of a model family are not part of the client's prompt.
  const marks = text.prompt.endsWith(request.prompt) ? text.prompt.slice(0, -request.prompt.length || undefined) : '';
  const front = plan.front + (await tokens(marks)).length;
  // The last position must be a token, for its logits, even after an empty prompt.
  if ((plan.tokens.at(-1) ?? -1) >= 0) return { ...plan, front };
  const first = vocabulary.bos >= 0 ? vocabulary.bos : (vocabulary.endTokens[0] ?? 0);
  return { ...plan, tokens: Int32Array.of(...plan.tokens, first), front: front + 1 };
}

/** The prompt as tokens from the client; a BOS token after the memory is dropped. */
function sentTokens({ memory }: GenerationRequest, sent: readonly number[], vocabulary: Vocabulary): MarkedTokens {
  const tokens = checkedTokens(sent, 'prompt', vocabulary.size);
  const dropsBos = memory !== '' && tokens[0] === vocabulary.bos;
  return { tokens: dropsBos ? tokens.subarray(1) : tokens, media: [] };
}

function withoutMedia(what: string): AppError {
  const feature = `${what} together with pictures or sound`;
  return new AppError('unsupported', { feature, instead: 'leave out one of them' });
}

/** Requests with equal settings may be computed together, and share what is cached. Throws for an adapter that is not loaded. */
export function adapterSetting(
  { loaded }: Pick<WorkerContext, 'loaded'>,
  { adapters }: Pick<GenerationRequest, 'adapters'>,
): string {
  const { lora } = loaded.options;
  const paths = lora.map(({ path }) => path);
  return JSON.stringify(adapters ? adapterScales(adapters, paths) : lora.map(({ scale }) => scale));
}

/** Whether the request may use the cache; with prompt logprobs all of it must be computed. */
function reuses({ loaded }: WorkerContext, { freshPrompt, promptLogprobs }: GenerationRequest): boolean {
  return loaded.options.reusePrompt && !freshPrompt && promptLogprobs === undefined;
}

/** How many tokens of the prompt neither a slot nor a snapshot has. */
export async function uncachedTokens(worker: WorkerContext, request: GenerationRequest): Promise<number> {
  const { tokens } = await promptPlan(worker.loaded, request, [], 0);
  if (!reuses(worker, request) || adapterSetting(worker, request) !== worker.adapters.setting) return tokens.length;
  const known = [...worker.slots.map(({ cached }) => cached), ...(worker.snapshots?.sequences() ?? [])];
  return tokens.length - Math.max(0, ...known.map((sequence) => commonPrefix(sequence, tokens)));
}

/** Shifts the cache as planned; returns how many tokens of the prompt are cached. */
function shiftAndReuse(slot: Slot, { shift, keep }: ReturnType<typeof planReuse>, warn: Planned['warn']): number {
  if (!shift) return keep;
  if (!slot.shift(shift.from, shift.count)) return Math.min(keep, shift.from);
  warn('context-shifted', `Context Shifting: Erased ${shift.count} tokens at position ${shift.from}`);
  return keep;
}

/** Takes the best slot for the prompt, and copies the prefix of another slot if that shares more. */
function takeSlot(worker: WorkerContext, { plan }: Planned, reused: boolean): Slot {
  const { slots, loaded, now } = worker;
  const { tokens: prompt } = plan;
  const choice = chooseSlot(slots, { prompt, canCopy: reused, isControl: loaded.vocabulary.isControl });
  if (!choice) throw new AppError('engine-failed', { capability: 'text', reason: 'all of its sequences are at work' });
  const { slot, copyFrom } = choice;
  saveBefore(worker, slot, reused && !copyFrom ? prompt : undefined);
  if (copyFrom) slot.copyFrom(copyFrom, commonPrefix(copyFrom.cached, prompt));
  slot.take(now());
  return slot;
}

/** Saves a slot before a prompt or something else overwrites it. */
export function saveBefore({ snapshots }: WorkerContext, slot: Slot, prompt: Int32Array | undefined): void {
  try {
    snapshots?.beforeOverwrite(slot, prompt);
  } catch {
    // Without memory for a copy, what is overwritten is computed again when it returns.
  }
}

async function negativePrompt({ loaded, negative }: WorkerContext, { guidance }: GenerationRequest) {
  if (!guidance || !negative || guidance.scale === 1 || guidance.negativePrompt === '') return undefined;
  return loaded.vocabulary.tokenizeAside(guidance.negativePrompt, { addSpecial: true });
}

function reasoningBudget(worker: WorkerContext, request: GenerationRequest, plan: PromptPlan) {
  if (!request.reasoning) return undefined;
  if (worker.reasoning === 'unknown') worker.reasoning = findReasoning(worker.loaded.vocabulary);
  if (!worker.reasoning) return undefined;
  const { reasoning } = request;
  const tokens = reasoning.type === 'tokens' ? reasoning.tokens : Math.trunc(reasoning.share * plan.maxTokens);
  const budget = new ReasoningBudget(worker.reasoning.tags, tokens, worker.reasoning.closing);
  for (const token of plan.tokens) budget.accept(token);
  return budget;
}

function dryOption(worker: WorkerContext, { sampling }: GenerationRequest): { dryBreakers?: DryBreakers } {
  if (sampling.dryMultiplier <= 0 || sampling.dryBreakers.length === 0) return {};
  const strings = JSON.stringify(sampling.dryBreakers);
  if (worker.breakers?.strings !== strings) {
    const tokens = dryBreakers(sampling.dryBreakers, samplingVocabulary(worker.loaded.vocabulary));
    worker.breakers = { strings, tokens };
  }
  return { dryBreakers: worker.breakers.tokens };
}

/** No token of any model has more characters. */
const maxTokenLength = 1000;

/** Stop texts that are one token without visible text: they can only be recognized by their id. */
function silentStops(vocabulary: Vocabulary, { stop, renderSpecial }: GenerationRequest): ReadonlySet<number> {
  const tokens = new Set<number>();
  for (const text of stop) {
    if (text.length > maxTokenLength) continue;
    const [token, ...rest] = vocabulary.tokenize(text, { addSpecial: false });
    if (token !== undefined && rest.length === 0 && vocabulary.bytes(token, renderSpecial !== false).length === 0)
      tokens.add(token);
  }
  return tokens;
}

function samplingVocabulary(vocabulary: Vocabulary) {
  return {
    size: vocabulary.size,
    piece: (token: number) => vocabulary.texts()[token] ?? '',
    tokenize: (text: string) => vocabulary.tokenize(text, { addSpecial: false, parseSpecial: false }),
  };
}

const glmPrefix = '[gMASK]<sop>';

/** GLM models need their two opening marks exactly once, at the very front. */
export function withFamilyPrefix(template: string | undefined, { prompt, memory }: PromptTexts): PromptTexts {
  if (!template?.includes(glmPrefix)) return { prompt, memory };
  const stripped = { prompt: prompt.replaceAll(glmPrefix, ''), memory: memory.replaceAll(glmPrefix, '') };
  return stripped.memory === ''
    ? { prompt: glmPrefix + stripped.prompt, memory: '' }
    : { prompt: stripped.prompt, memory: glmPrefix + stripped.memory };
}

/** Reasoning tags of model families, and how many tokens the start tag must have. */
const reasoningTags = [
  { start: '<think>', startTokens: 1, end: '</think>' },
  { start: '<|channel>thought', startTokens: 2, end: '<channel|>' },
  { start: '<seed:think>', startTokens: 1, end: '</seed:think>' },
  { start: '<|START_THINKING|>', startTokens: 1, end: '<|END_THINKING|>' },
  { start: '[THINK]', startTokens: 1, end: '[/THINK]' },
  { start: ' to=self<|message|>', startTokens: 3, end: '<|eom|>' },
] as const;

const closingPhrase = '\nThat is enough thinking; here is the answer.\n';

interface ReasoningSetup {
  readonly tags: ReasoningTags;
  /** A phrase that ends the reasoning, and the end tag. */
  readonly closing: readonly number[];
}

/** Undefined for a model without such tags. */
export function findReasoning(vocabulary: Vocabulary): ReasoningSetup | undefined {
  const tokens = (text: string) => [...vocabulary.tokenize(text, { addSpecial: false })];
  for (const { start, startTokens, end } of reasoningTags) {
    const opening = tokens(start);
    const [closing, ...rest] = tokens(end);
    if (opening.length !== startTokens || closing === undefined || rest.length > 0) continue;
    return { tags: { start: opening, end: closing }, closing: [...tokens(closingPhrase), closing] };
  }
  return undefined;
}
