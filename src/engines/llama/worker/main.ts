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
      begin(serving, message);
      return;
    case 'abort':
      loop.abort(message.id);
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

function begin({ workshop, loop }: Serving, question: ToWorker & { type: 'generate' }): void {
  const pieces: Piece[] = [];
  try {
    const generation = prepareGeneration(workshop, question, pieces);
    send({ type: 'step', pieces: [generation.start(), ...pieces] });
    loop.add(generation);
  } catch (error) {
    send({ type: 'step', pieces: [...pieces, errorPiece(question.id, error)] });
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
  return { workshop, loop: new BatchLoop(context, send, now) };
}
