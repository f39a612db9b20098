import type { EmbeddingParts } from '../embedding/service.ts';
import type { ModelEndpoint } from '../endpoint.ts';
import { completionEndpoints } from './completion.ts';
import { embeddingEndpoint } from './embedding.ts';
import { refusedEndpoints } from './refused.ts';
import { rerankEndpoints } from './rerank.ts';
import { type StatusParts, statusEndpoints } from './status.ts';
import { type TokenParts, tokenEndpoints } from './tokens.ts';

export interface LlamacppContext extends StatusParts, EmbeddingParts, Pick<TokenParts, 'readChat'> {}

export const llamacppEndpoints: readonly ModelEndpoint<LlamacppContext>[] = [
  ...statusEndpoints,
  ...completionEndpoints,
  ...tokenEndpoints,
  embeddingEndpoint,
  ...rerankEndpoints,
  ...refusedEndpoints,
];
