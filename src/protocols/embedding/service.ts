import type { EmbeddingService } from '../../core/embedding.ts';
import { AppError } from '../../core/errors.ts';
import { equalName, modelId, sameName } from '../../core/model-names.ts';
import type { DialectParts } from '../dialect.ts';

export type EmbeddingParts = Pick<DialectParts, 'others' | 'modelName' | 'alias'>;

/** Who answers, and under which name. */
export interface Answering {
  readonly service: EmbeddingService;
  readonly model: string;
}

/** The text model where a request names it, and for every other name the embeddings model, as others have it. */
export function answering({ others, modelName, alias }: EmbeddingParts, sent: string | undefined): Answering {
  const { embedding, textEmbedding } = others ?? {};
  const text = modelName();
  const own = [text, textEmbedding?.name, embedding?.name];
  const isOwn = sent === undefined || own.some((name) => name !== undefined && equalName(name, sent));
  const asked = isOwn ? sent : (alias?.(sent) ?? sent);
  const isText = (name: string): boolean => asked !== undefined && sameName(name, asked);
  if (textEmbedding && isText(text)) return { service: textEmbedding, model: text };
  // One that cannot write, or failed to, has no name as a text model.
  if (textEmbedding && isText(textEmbedding.name))
    return { service: textEmbedding, model: modelId(textEmbedding.name) };
  if (!embedding) throw new AppError('model-missing', { capability: 'embeddings', flag: '--embeddingsmodel FILE' });
  return { service: embedding, model: embedding.name };
}
