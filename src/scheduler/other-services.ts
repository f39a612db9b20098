import type { EmbeddingEngine } from '../core/embedding.ts';
import type { EngineSource } from '../core/engine-source.ts';
import type { OtherServices } from '../core/other-services.ts';
import type { SpeechEngine, SpeechService } from '../core/speech.ts';
import type { TranscriptionEngine } from '../core/transcription.ts';
import type { Desk } from './desk.ts';
import { embeddingService } from './embedding.ts';
import { speechService } from './speech.ts';
import type { TaskObserver } from './tasks.ts';
import { transcriptionService } from './transcription.ts';

export interface Sources {
  readonly embedding?: EngineSource<EmbeddingEngine>;
  readonly speech?: EngineSource<SpeechEngine> & Pick<SpeechService, 'voices' | 'maxWords'>;
  readonly transcription?: EngineSource<TranscriptionEngine>;
}

/** A service for each engine that is to be had. */
export function otherServices(desk: Desk, sources: Sources, observer: TaskObserver = {}): OtherServices {
  const { embedding, speech, transcription } = sources;
  const parts = { desk, observer };
  return {
    ...(embedding ? { embedding: embeddingService({ ...parts, source: embedding }) } : {}),
    ...(speech
      ? { speech: speechService({ ...parts, source: speech, voices: speech.voices, maxWords: speech.maxWords }) }
      : {}),
    ...(transcription ? { transcription: transcriptionService({ ...parts, source: transcription }) } : {}),
  };
}
