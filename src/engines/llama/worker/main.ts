import { performance } from 'node:perf_hooks';
import type { CacheReport } from '../../../core/cache-report.ts';
import { plainError } from '../../../core/errors.ts';
import { closingMs, type FromWorker, type Piece, type ToWorker } from '../messages.ts';
import type { CheckpointLimits } from './cache/checkpoints.ts';
import { CacheDoctor } from './cache/doctor.ts';
import { openKeeper } from './cache/open-keeper.ts';
import { StatePlaces } from './cache/places.ts';
import { BatchLoop, errorPiece } from './loop.ts';
import type { ReadMedium } from './medium.ts';
import { type Loaded, loadModel } from './model.ts';
import { planGeneration, startGeneration, type Workshop } from './prepare.ts';
import { readMedia } from './read-media.ts';
import { Slot } from './slot.ts';
import { UnexplainedFailure } from './weights.ts';

/** The engine's own process: it loads one model and serves it until its channel closes. */
let serving: Serving | undefined;

interface Serving {
  readonly workshop: Workshop;
  readonly loop: BatchLoop;
  readonly places: StatePlaces;
  /** Requests for which pictures, sounds or snapshots are being read, and whether somebody has stopped them since. */
  readonly reading: Map<number, { stopped: boolean }>;
}

const send = (message: FromWorker): void => {
  process.send?.(message);
};

process.on('disconnect', () => {
  // Whoever stopped us may be gone and not there to end us when the time is over. What is half written then is lost.
  setTimeout(() => process.exit(0), closingMs.writing);
  void Promise.resolve(serving?.workshop.keeper?.close()).finally(() => process.exit(0));
});
process.on('message', (message: ToWorker) => void receive(message));

async function receive(message: ToWorker): Promise<void> {
  if (message.type === 'load') {
    try {
      const loaded = await loadModel(message.options, (fraction) => send({ type: 'progress', fraction }));
      serving = await serve(loaded);
      send({ type: 'loaded', model: loaded.info });
    } catch (error) {
      const reason = error instanceof UnexplainedFailure ? null : (error as Error).message;
      process.send?.({ type: 'load-failed', reason } satisfies FromWorker, () => process.exit(3));
    }
    return;
  }
  if (!serving) return;
  const { workshop, loop } = serving;
  const { vocabulary } = workshop.loaded;
  switch (message.type) {
    case 'generate':
      if (message.request.media.length === 0) await begin(serving, message, []);
      else await beginWithMedia(serving, message);
      return;
    case 'abort': {
      const reading = serving.reading.get(message.id);
      if (reading) reading.stopped = true;
      else loop.abort(message.id);
      return;
    }
    case 'cache':
      await answer(message.id, () => cacheReport(workshop));
      return;
    case 'states': {
      const { places } = serving;
      await answer(message.id, () => loop.between(async () => places.perform(message.action)));
      return;
    }
    case 'tokenize':
      await answer(message.id, () => [...vocabulary.tokenize(message.text, { addSpecial: message.addSpecial })]);
      return;
    case 'detokenize':
      await answer(message.id, () => vocabulary.detokenize(message.tokens, message.renderSpecial));
  }
}

function cacheReport({ slots, keeper, doctor }: Workshop): CacheReport {
  return {
    slots: slots.map(({ computed, busy, checkpoints }) => ({
      tokens: computed,
      busy,
      ...(checkpoints.count > 0 ? { checkpoints } : {}),
    })),
    ...(keeper?.figures() ?? { memory: null, disk: null }),
    misses: doctor.misses,
  };
}

async function answer(id: number, work: () => unknown): Promise<void> {
  try {
    send({ type: 'answer', id, value: await work() });
  } catch (error) {
    send({ type: 'refused', id, error: plainError(error) });
  }
}

type GenerateMessage = ToWorker & { type: 'generate' };

async function begin(serving: Serving, question: GenerateMessage, media: readonly ReadMedium[]): Promise<void> {
  const { workshop, loop, reading } = serving;
  const pieces: Piece[] = [];
  try {
    const planned = planGeneration(workshop, { ...question, media }, pieces);
    if (workshop.keeper && media.length === 0) {
      const state = { stopped: false };
      reading.set(question.id, state);
      // A cache that fails is no reason to fail: the prompt is computed instead.
      await workshop.keeper.bring(planned.plan.tokens).catch(() => undefined);
      reading.delete(question.id);
      if (state.stopped) {
        send({ type: 'step', pieces: stoppedPieces(question.id) });
        return;
      }
    }
    await betweenBatches(serving, question.id, () => {
      const generation = startGeneration(workshop, planned);
      send({ type: 'step', pieces: [generation.start(), ...pieces] });
      loop.add(generation);
    });
  } catch (error) {
    send({ type: 'step', pieces: [...pieces, errorPiece(question.id, error)] });
  }
}

/**
 * Sequences of a plain memory are strangers to each other: one can begin while others are computed. The other kinds share
 * tables, and states are copied in and out of them, which must not meet a batch.
 */
async function betweenBatches({ workshop, loop, reading }: Serving, id: number, work: () => void): Promise<void> {
  const { context } = workshop.loaded;
  if (context.memory === 'plain' || !context.decoding) {
    work();
    return;
  }
  const state = { stopped: false };
  reading.set(id, state);
  try {
    await loop.between(async () => {
      if (state.stopped) send({ type: 'step', pieces: stoppedPieces(id) });
      else work();
    });
  } finally {
    reading.delete(id);
  }
}

/** Reading takes a while, in which others go on and this one may be stopped. */
async function beginWithMedia(serving: Serving, question: GenerateMessage): Promise<void> {
  const { workshop, loop, reading } = serving;
  const state = { stopped: false };
  reading.set(question.id, state);
  try {
    const media = await readMedia(workshop.loaded.projector, question.request.media, {
      exclusively: (work) => loop.between(work),
      stopped: () => state.stopped,
    });
    if (media) await begin(serving, question, media);
    else send({ type: 'step', pieces: stoppedPieces(question.id) });
  } catch (error) {
    send({ type: 'step', pieces: [errorPiece(question.id, error)] });
  } finally {
    reading.delete(question.id);
  }
}

/** A generation that was stopped before there was one. */
function stoppedPieces(id: number): Piece[] {
  const usage = { promptTokens: 0, cachedTokens: 0, completionTokens: 0 };
  const timings = { initMs: 0, promptMs: 0, generationMs: 0, processedTokens: 0 };
  return [
    { type: 'start', id, promptTokens: 0, cachedTokens: 0, maxTokens: 0, droppedTokens: 0 },
    { type: 'finish', id, cause: 'aborted', usage, timings },
  ];
}

/** What checkpoints may take of the main memory: all of them together, and those of a slot in any case. */
const checkpointMemory = { together: 2 * 2 ** 30, slot: 256 * 2 ** 20 };

function checkpointLimits(slots: number): CheckpointLimits {
  return { count: 8, bytes: Math.max(checkpointMemory.together / slots, checkpointMemory.slot) };
}

async function serve(loaded: Loaded): Promise<Serving> {
  const { context, options, contextSize } = loaded;
  const now = () => performance.now();
  const workshop: Workshop = {
    loaded,
    slots: Array.from(
      { length: options.sequences },
      (_, sequence) => new Slot(context, sequence, contextSize, checkpointLimits(options.sequences)),
    ),
    negative: options.guidance ? new Slot(context, options.sequences, contextSize) : undefined,
    now,
    retained: undefined,
    breakers: undefined,
    reasoning: 'unknown',
    keeper: undefined,
    doctor: new CacheDoctor((tokens) => loaded.vocabulary.detokenize(tokens, true)),
  };
  const loop = new BatchLoop(context, context.memory === 'plain' ? workshop.slots : [], send, now);
  workshop.keeper = await openKeeper(loaded, workshop.slots, (work) => loop.between(work));
  const places = new StatePlaces(workshop.slots, options.statePlaces, now);
  return { workshop, loop, places, reading: new Map() };
}
