import type { EmbeddingEngine, EmbeddingFacts, EmbeddingService } from '../core/embedding.ts';
import { type TaskParts, tasks } from './tasks.ts';

export function embeddingService(parts: TaskParts<EmbeddingEngine>): EmbeddingService {
  const { source } = parts;
  const { once } = tasks(parts);
  let known: EmbeddingFacts | undefined;
  const facts = (): EmbeddingFacts | undefined => {
    known = source.peek()?.facts() ?? known;
    return known;
  };
  const { keepFor, expiresAt, file } = source;
  return {
    name: source.name,
    facts,
    loaded: () => source.state().type === 'ready',
    ...(file ? { file } : {}),
    ...(keepFor ? { keepFor } : {}),
    ...(expiresAt ? { expiresAt } : {}),
    embed: (request, ticket) =>
      once(ticket, async ({ engine, signal, loadMs }) => {
        facts();
        return { ...(await engine.embed(request, signal)), loadMs };
      }),
    rank: (request, ticket) =>
      once(ticket, async ({ engine, signal, loadMs }) => {
        facts();
        return { ...(await engine.rank(request, signal)), loadMs };
      }),
  };
}
