import type { Endpoint } from '../../http/call.ts';
import { speechEndpoints } from './audio/speech.ts';
import { chatEndpoints } from './chat/endpoints.ts';
import type { CompletionParts } from './completions/decode.ts';
import { completionEndpoints } from './completions/endpoints.ts';
import { elsewhereEndpoints } from './elsewhere.ts';
import { embeddingsEndpoints } from './embeddings.ts';
import { modelsEndpoints } from './models.ts';
import { transcriptionEndpoints } from './transcription/endpoints.ts';

export interface OpenaiParts extends CompletionParts {
  /** No longer looked at. */
}

export function openaiEndpoints(parts: OpenaiParts): Endpoint[] {
  return [
    ...chatEndpoints(parts),
    ...completionEndpoints(parts),
    ...embeddingsEndpoints(parts),
    ...modelsEndpoints(parts),
    ...speechEndpoints(parts),
    ...transcriptionEndpoints(parts),
    ...elsewhereEndpoints(),
  ];
}
