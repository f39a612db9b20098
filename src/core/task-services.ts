import type { EmbeddingService } from './embedding.ts';
import type { ImageService } from './image.ts';
import type { MusicService } from './music.ts';
import type { SpeechService } from './speech.ts';
import type { TranscriptionService } from './transcription.ts';

/** Services of the other engine kinds; absent ones are not available. */
export interface TaskServices {
  readonly embedding?: EmbeddingService;
  /** Embeddings by the text model, for requests that name it. */
  readonly textEmbedding?: EmbeddingService;
  readonly image?: ImageService;
  readonly music?: MusicService;
  readonly speech?: SpeechService;
  readonly transcription?: TranscriptionService;
}
