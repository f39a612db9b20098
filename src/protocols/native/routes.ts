import type { WebSearch } from '../../core/web-search.ts';
import type { Endpoint } from '../../http/call.ts';
import type { EmbeddingParts } from '../embedding/service.ts';
import { embeddingsEndpoint } from './embeddings.ts';
import { type GenerateParts, generateEndpoints } from './generate.ts';
import { type InfoParts, infoEndpoints } from './info.ts';
import { type MultiplayerParts, multiplayerEndpoints } from './multiplayer.ts';
import { musicEndpoints } from './music.ts';
import { type SaveSlotParts, saveSlotEndpoints } from './save-slots.ts';
import { shutdownEndpoint } from './shutdown.ts';
import { type NativeSpeechParts, nativeSpeechEndpoints } from './speech.ts';
import { taskEndpoints } from './tasks.ts';
import { type TokenParts, tokenEndpoints } from './tokens.ts';
import { type TranscribeParts, transcribeEndpoint } from './transcribe.ts';
import { webSearchEndpoint } from './web-search.ts';

export interface NativeParts
  extends GenerateParts,
    InfoParts,
    TokenParts,
    EmbeddingParts,
    NativeSpeechParts,
    TranscribeParts,
    SaveSlotParts,
    MultiplayerParts {
  /** With `--websearch` only. */
  readonly search?: WebSearch | undefined;
  readonly shutdown?: () => void;
}

export function nativeEndpoints(parts: NativeParts): Endpoint[] {
  return [
    ...generateEndpoints(parts),
    ...taskEndpoints(parts.service),
    embeddingsEndpoint(parts),
    ...tokenEndpoints(parts),
    ...infoEndpoints(parts),
    ...nativeSpeechEndpoints(parts),
    ...musicEndpoints(),
    transcribeEndpoint(parts),
    ...saveSlotEndpoints(parts),
    ...multiplayerEndpoints(parts),
    webSearchEndpoint(parts.search),
    shutdownEndpoint(parts.shutdown),
  ];
}
