import type { EmbeddingEngine, EmbeddingService } from '../core/embedding.ts';
import { type TaskParts, tasks } from './tasks.ts';

export function embeddingService(parts: Omit<TaskParts<EmbeddingEngine>, 'kind'>): EmbeddingService {
  const { source } = parts;
  const { once } = tasks({ ...parts, kind: 'embedding' });
  return {
    name: source.name,
    facts: () => source.peek()?.facts(),
    embed: (request, ticket) => once(ticket, ({ engine, signal }) => engine.embed(request, signal)),
    rank: (request, ticket) => once(ticket, ({ engine, signal }) => engine.rank(request, signal)),
  };
}
