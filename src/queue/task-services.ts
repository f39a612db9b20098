import type { EmbeddingEngine } from '../core/embedding.ts';
import type { EngineSource } from '../core/engine-source.ts';
import type { ImageEngine, ImageFacts } from '../core/image.ts';
import type { SpeechEngine, SpeechService } from '../core/speech.ts';
import type { TaskServices } from '../core/task-services.ts';
import type { TranscriptionEngine } from '../core/transcription.ts';
import { embeddingService } from './embedding.ts';
import { imageService, RunningDrawings } from './image.ts';
import type { RequestQueue } from './request-queue.ts';
import { speechService } from './speech.ts';
import { laneOf, type TaskKind, type TaskObserver } from './tasks.ts';
import { transcriptionService } from './transcription.ts';

export interface Sources {
  readonly embedding?: EngineSource<EmbeddingEngine>;
  readonly textEmbedding?: EngineSource<EmbeddingEngine>;
  readonly image?: EngineSource<ImageEngine> & { readonly facts: ImageFacts };
  readonly speech?: EngineSource<SpeechEngine> & Pick<SpeechService, 'voices' | 'maxWords'>;
  readonly transcription?: EngineSource<TranscriptionEngine>;
}

/** Lanes of engines that set their own concurrency. */
export function ownCapacities(sources: Sources): readonly (readonly [lane: string, capacity: () => number])[] {
  const { embedding, image } = sources;
  const lane = (kind: TaskKind, source: Pick<EngineSource<unknown>, 'name' | 'atOnce'> | undefined) =>
    source?.atOnce ? [[laneOf(kind, source.name), source.atOnce] as const] : [];
  return [...lane('embedding', embedding), ...lane('image', image)];
}

/** A service for each available engine. */
export function taskServices(
  requestQueue: RequestQueue,
  sources: Sources,
  observer: TaskObserver = {},
  drawings: RunningDrawings = new RunningDrawings(requestQueue.now),
): TaskServices {
  const { embedding, textEmbedding, image, speech, transcription } = sources;
  const parts = { requestQueue, observer };
  return {
    ...(embedding ? { embedding: embeddingService({ ...parts, source: embedding }) } : {}),
    ...(textEmbedding ? { textEmbedding: embeddingService({ ...parts, source: textEmbedding }) } : {}),
    ...(image ? { image: imageService({ ...parts, source: image, facts: image.facts, drawings }) } : {}),
    ...(speech
      ? { speech: speechService({ ...parts, source: speech, voices: speech.voices, maxWords: speech.maxWords }) }
      : {}),
    ...(transcription ? { transcription: transcriptionService({ ...parts, source: transcription }) } : {}),
  };
}
