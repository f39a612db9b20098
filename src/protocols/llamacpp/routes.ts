import type { Endpoint } from '../../http/call.ts';
import { completionEndpoints } from './completion.ts';
import { type EmbeddingParts, embeddingEndpoints } from './embedding.ts';
import { refusedEndpoints } from './refused.ts';
import { type StatusParts, statusEndpoints } from './status.ts';
import { type TokenParts, tokenEndpoints } from './tokens.ts';

export interface LlamacppParts extends StatusParts, EmbeddingParts, Pick<TokenParts, 'readChat'> {}

export function llamacppEndpoints(parts: LlamacppParts): Endpoint[] {
  return [
    ...statusEndpoints(parts),
    ...completionEndpoints(parts),
    ...tokenEndpoints(parts),
    ...embeddingEndpoints(parts),
    ...refusedEndpoints(),
  ];
}
