import type { WebSearch } from '../../core/web-search.ts';
import type { EmbeddingParts } from '../embedding/service.ts';
import type { ModelEndpoint } from '../endpoint.ts';
import { type CacheParts, cacheEndpoint } from './cache.ts';
import { embeddingsEndpoint } from './embeddings.ts';
import { type GenerateParts, generateEndpoints } from './generate.ts';
import { type InfoParts, infoEndpoints } from './info.ts';
import { type MultiplayerParts, multiplayerEndpoints } from './multiplayer.ts';
import { musicEndpoints } from './music.ts';
import { type SaveSlotParts, saveSlotEndpoints } from './save-slots.ts';
import { shutdownEndpoint } from './shutdown.ts';
import { type NativeSpeechParts, nativeSpeechEndpoint } from './speech.ts';
import { taskEndpoints } from './tasks.ts';
import { type TokenParts, tokenEndpoints } from './tokens.ts';
import { type TranscribeParts, transcribeEndpoint } from './transcribe.ts';
import { webSearchEndpoint } from './web-search.ts';

/** What depends on the model that a call concerns. */
export interface NativeContext
  extends GenerateParts,
    InfoParts,
    TokenParts,
    EmbeddingParts,
    NativeSpeechParts,
    TranscribeParts,
    CacheParts {}

/** What the server has, whichever model answers. */
export interface NativeServices extends SaveSlotParts, MultiplayerParts {
  /** With `--websearch` only. */
  readonly search?: WebSearch | undefined;
  /** With `--singleinstance` only. */
  readonly shutdown?: () => void;
}

export function nativeEndpoints(services: NativeServices): ModelEndpoint<NativeContext>[] {
  return [
    ...generateEndpoints,
    ...taskEndpoints,
    embeddingsEndpoint,
    ...tokenEndpoints,
    ...infoEndpoints,
    cacheEndpoint,
    nativeSpeechEndpoint,
    ...musicEndpoints(),
    transcribeEndpoint,
    ...saveSlotEndpoints(services),
    ...multiplayerEndpoints(services),
    webSearchEndpoint(services.search),
    shutdownEndpoint(services.shutdown),
  ];
}
