import type { Endpoint } from '../../http/call.ts';
import { type EmbeddingsParts, embeddingEndpoints } from './embeddings.ts';
import { type GenerationParts, generationEndpoints } from './generation.ts';
import { managementEndpoints } from './management.ts';
import { type ModelParts, modelEndpoints } from './models.ts';

export interface OllamaParts extends GenerationParts, ModelParts, EmbeddingsParts {}

export function ollamaEndpoints(parts: OllamaParts): Endpoint[] {
  return [
    ...generationEndpoints(parts),
    ...embeddingEndpoints(parts),
    ...modelEndpoints(parts),
    ...managementEndpoints(parts),
  ];
}
