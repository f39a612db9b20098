import type { EmbeddingService } from '../../core/embedding.ts';
import { AppError } from '../../core/errors.ts';
import { equalName, modelId, sameName } from '../../core/model-names.ts';
import type { DialectParts } from '../dialect.ts';

export type EmbeddingParts = Pick<DialectParts, 'taskServices' | 'modelName' | 'alias'>;

/** The text model if the request names it; any other name means the embeddings model, as in other servers. */
export function answering(
  { taskServices, modelName, alias }: EmbeddingParts,
  sent: string | undefined,
): { readonly service: EmbeddingService; readonly model: string } {
  const { embedding, textEmbedding } = taskServices ?? {};
  const text = modelName();
  const own = [text, textEmbedding?.name, embedding?.name];
  const isOwn = sent === undefined || own.some((name) => name !== undefined && equalName(name, sent));
  const asked = isOwn ? sent : (alias?.(sent) ?? sent);
  const isText = (name: string): boolean => asked !== undefined && sameName(name, asked);
  if (textEmbedding && isText(text)) return { service: textEmbedding, model: text };
  // A text model that only embeds, or failed to load, has no name as a text model.
  if (textEmbedding && isText(textEmbedding.name))
    return { service: textEmbedding, model: modelId(textEmbedding.name) };
  if (!embedding) throw new AppError('model-missing', { capability: 'embeddings', flag: '--embeddingsmodel FILE' });
  return { service: embedding, model: embedding.name };
}
