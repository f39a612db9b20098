import type { FromWorker, Piece, ToWorker } from '../messages.ts';
import { type BatchLoop, errorPiece } from './loop.ts';
import type { ReadMedium } from './media/media-prompt.ts';
import { readMedia } from './media/projector.ts';
import { planGeneration, reuses, startGeneration, type WorkerContext } from './prepare.ts';

/** Requests that have no slot yet, because something is being read for them. */
export type ReadingRequests = Map<number, { stop(): void }>;

export interface BeginParts {
  readonly workshop: WorkerContext;
  readonly loop: Pick<BatchLoop, 'add' | 'beforeNextBatch' | 'between'>;
  readonly reading: ReadingRequests;
  readonly send: (message: FromWorker) => void;
}

type GenerateMessage = ToWorker & { type: 'generate' };

/**
 * Reads what there is to read (media, a long prompt, a snapshot), in which others go on and this one may be stopped. Then it
 * takes its slot: sequences share tables of the library, so that must not meet a batch.
 */
export async function beginGeneration(parts: BeginParts, question: GenerateMessage): Promise<void> {
  const { workshop, loop, reading, send } = parts;
  const { id } = question;
  const pieces: Piece[] = [];
  /** Nobody waits any more: it was stopped, failed, or runs. */
  let over = false;
  const leave = (last: readonly Piece[]): void => {
    if (over) return;
    over = true;
    reading.delete(id);
    send({ type: 'step', pieces: last });
  };
  // Whatever is being read for it is read to its end, but whoever stopped it need not wait for that.
  reading.set(id, { stop: () => leave(stoppedPieces(id)) });
  try {
    const media = await mediaOf(parts, question, () => over);
    if (!media) return;
    const planned = await planGeneration(workshop, { ...question, media }, pieces);
    // A cache that fails is no reason to fail: the prompt is computed instead.
    const served = media.length === 0 && reuses(workshop, question.request);
    if (served && !over) await workshop.keeper?.bring(planned.plan.tokens).catch(() => undefined);
    loop.beforeNextBatch(() => {
      if (over) return;
      try {
        const generation = startGeneration(workshop, planned);
        leave([generation.start(), ...pieces]);
        loop.add(generation);
      } catch (error) {
        leave([...pieces, errorPiece(id, error)]);
      }
    });
  } catch (error) {
    leave([...pieces, errorPiece(id, error)]);
  }
}

/** Undefined when it was stopped meanwhile. */
async function mediaOf(
  { workshop, loop }: BeginParts,
  { request }: GenerateMessage,
  stopped: () => boolean,
): Promise<readonly ReadMedium[] | undefined> {
  if (request.media.length === 0) return [];
  return readMedia(workshop.loaded.projector, request.media, { exclusively: (work) => loop.between(work), stopped });
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
