import type { ModelEndpoint } from '../endpoint.ts';
import { speechEndpoints } from './audio/speech.ts';
import { chatEndpoints } from './chat/endpoints.ts';
import type { CompletionParts } from './completions/decode.ts';
import { completionEndpoints } from './completions/endpoints.ts';
import { elsewhereEndpoints } from './elsewhere.ts';
import { embeddingsEndpoints } from './embeddings.ts';
import { modelsEndpoints } from './models.ts';
import { transcriptionEndpoints } from './transcription/endpoints.ts';

export type OpenaiContext = CompletionParts;

export const openaiEndpoints: readonly ModelEndpoint<OpenaiContext>[] = [
  ...chatEndpoints,
  ...completionEndpoints,
  ...embeddingsEndpoints,
  ...modelsEndpoints,
  ...speechEndpoints,
  ...transcriptionEndpoints,
  ...elsewhereEndpoints,
];
