import type { Endpoint } from '../../http/call.ts';
import type { EmbeddingParts } from '../embedding/service.ts';
import { completionEndpoints } from './completion.ts';
import { embeddingEndpoint } from './embedding.ts';
import { refusedEndpoints } from './refused.ts';
import { rerankEndpoints } from './rerank.ts';
import { type StatusParts, statusEndpoints } from './status.ts';
import { type TokenParts, tokenEndpoints } from './tokens.ts';

export interface LlamacppParts extends StatusParts, EmbeddingParts, Pick<TokenParts, 'readChat'> {}

export function llamacppEndpoints(parts: LlamacppParts): Endpoint[] {
  return [
    ...statusEndpoints(parts),
    ...completionEndpoints(parts),
    ...tokenEndpoints(parts),
    embeddingEndpoint(parts),
    ...rerankEndpoints(parts),
    ...refusedEndpoints(),
  ];
}
