import { performance } from 'node:perf_hooks';
import { plainError } from '../../../core/errors.ts';
import type { FromWorker, Piece, ToWorker } from '../messages.ts';
import { BatchLoop, errorPiece } from './loop.ts';
import { type Loaded, loadModel, UnexplainedFailure } from './model.ts';
import { prepareGeneration, type Workshop } from './prepare.ts';
import { Slot } from './slot.ts';

/** The engine's own process: it loads one model and serves it until its channel closes. */
let serving: Serving | undefined;

interface Serving {
  readonly workshop: Workshop;
  readonly loop: BatchLoop;
  /** Requests that found no room in the cache, in the order in which they came. */
  readonly waiting: (ToWorker & { type: 'generate' })[];
  /** Ends a waiting request; false if there is none of that number. */
  dropWaiting(id: number): boolean;
}

const send = (message: FromWorker): void => {
  process.send?.(message);
};

process.on('disconnect', () => process.exit(0));
process.on('message', (message: ToWorker) => void receive(message));

async function receive(message: ToWorker): Promise<void> {
  if (message.type === 'load') {
    try {
      const loaded = await loadModel(message.options, (fraction) => send({ type: 'progress', fraction }));
      serving = serve(loaded);
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
      serving.waiting.push(message);
      admit(serving);
      return;
    case 'abort':
      if (!serving.dropWaiting(message.id)) loop.abort(message.id);
      return;
    case 'tokenize':
      answer(message.id, () => [...vocabulary.tokenize(message.text, { addSpecial: message.addSpecial })]);
      return;
    case 'detokenize':
      answer(message.id, () => vocabulary.detokenize(message.tokens, message.renderSpecial));
  }
}

function answer(id: number, work: () => unknown): void {
  try {
    send({ type: 'answer', id, value: work() });
  } catch (error) {
    send({ type: 'refused', id, error: plainError(error) });
  }
}

/** Begins as many of the waiting requests as there is room for; the first that does not fit holds back the others. */
function admit({ workshop, loop, waiting }: Serving): void {
  for (let next = waiting[0]; next; next = waiting[0]) {
    const pieces: Piece[] = [];
    try {
      const generation = prepareGeneration(workshop, next, pieces);
      if (!generation) return;
      send({ type: 'step', pieces: [generation.start(), ...pieces] });
      loop.add(generation);
    } catch (error) {
      send({ type: 'step', pieces: [...pieces, errorPiece(next.id, error)] });
    }
    waiting.shift();
  }
}

function serve(loaded: Loaded): Serving {
  const { context, options, contextSize } = loaded;
  const now = () => performance.now();
  const workshop: Workshop = {
    loaded,
    slots: Array.from({ length: options.sequences }, (_, sequence) => new Slot(context, sequence, contextSize)),
    negative: options.guidance ? new Slot(context, options.sequences, contextSize) : undefined,
    now,
    retained: undefined,
    breakers: undefined,
    reasoning: 'unknown',
  };
  const waiting: Serving['waiting'] = [];
  const serving: Serving = {
    workshop,
    waiting,
    loop: new BatchLoop(context, send, now, () => admit(serving)),
    dropWaiting: (id) => {
      const place = waiting.findIndex((one) => one.id === id);
      if (place === -1) return false;
      waiting.splice(place, 1);
      send({ type: 'step', pieces: [unstartedPiece(id)] });
      return true;
    },
  };
  return serving;
}

function unstartedPiece(id: number): Piece {
  return {
    type: 'finish',
    id,
    cause: 'aborted',
    usage: { promptTokens: 0, cachedTokens: 0, completionTokens: 0 },
    timings: { initMs: 0, promptMs: 0, generationMs: 0, processedTokens: 0 },
  };
}
