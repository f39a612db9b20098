import type { ModelEndpoint } from '../endpoint.ts';
import { type EmbeddingsParts, embeddingEndpoints } from './embeddings.ts';
import { type GenerationParts, generationEndpoints } from './generation.ts';
import { managementEndpoints } from './management.ts';
import { type ModelFileParts, type ModelParts, modelEndpoints } from './models.ts';

export interface OllamaContext extends GenerationParts, ModelParts, EmbeddingsParts {}

export function ollamaEndpoints(server: ModelFileParts): ModelEndpoint<OllamaContext>[] {
  return [...generationEndpoints, ...embeddingEndpoints, ...modelEndpoints(server), ...managementEndpoints];
}
