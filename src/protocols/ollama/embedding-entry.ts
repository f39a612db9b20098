import { createHash } from 'node:crypto';
import type { EmbeddingService } from '../../core/embedding.ts';
import { timestamp } from './ending.ts';
import { parameterSize } from './model-entry.ts';

/** The model for embeddings as one entry of the lists; of one that was never in memory little is known. */
export function embeddingEntry({ name, facts, file }: EmbeddingService): object {
  const digest = createHash('sha256').update(name).digest('hex');
  const size = file?.()?.sizeBytes ?? facts()?.sizeBytes ?? 0;
  const tag = `${name}:latest`;
  return { name: tag, model: tag, size, digest, details: details(facts()), capabilities };
}

/** One that is served elsewhere has no file here. */
export function embeddingModifiedAt({ file }: EmbeddingService): string {
  return timestamp(file?.()?.modifiedAt ?? 0);
}

export function embeddingShown(service: EmbeddingService): object {
  const { name, facts } = service;
  const known = facts();
  const shape = known && {
    'general.architecture': known.architecture,
    'general.parameter_count': known.parameters,
    [`${known.architecture}.context_length`]: known.maxTokens,
    [`${known.architecture}.embedding_length`]: known.dimensions,
  };
  return {
    modelfile: `FROM ${name}\n`,
    parameters: '',
    template: '',
    details: details(known),
    model_info: { 'general.basename': name, ...shape },
    capabilities,
    modified_at: embeddingModifiedAt(service),
  };
}

const capabilities = ['embedding'];

function details(facts: ReturnType<EmbeddingService['facts']>): object {
  return {
    parent_model: '',
    format: 'gguf',
    family: facts?.architecture ?? '',
    families: facts ? [facts.architecture] : [],
    parameter_size: facts ? parameterSize(facts.parameters) : '',
    quantization_level: '',
    ...(facts ? { context_length: facts.maxTokens, embedding_length: facts.dimensions } : {}),
  };
}
