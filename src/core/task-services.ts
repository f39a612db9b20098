import type { EmbeddingService } from './embedding.ts';
import type { ImageService } from './image.ts';
import type { SpeechService } from './speech.ts';
import type { TranscriptionService } from './transcription.ts';

/** What the server can do beside text; what is absent cannot be had on this machine or was not asked for. */
export interface TaskServices {
  readonly embedding?: EmbeddingService;
  /** The same by the text model, for whoever names it. */
  readonly textEmbedding?: EmbeddingService;
  readonly image?: ImageService;
  readonly speech?: SpeechService;
  readonly transcription?: TranscriptionService;
}
