import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { type RecallCache, withMemories } from '../chat/memory/recall.ts';
import type { Recall } from '../chat/replies.ts';
import { ownFolder } from '../core/data-folder.ts';
import type { EmbeddingService } from '../core/embedding.ts';
import type { Embed, MemoryLibrary } from '../core/memories.ts';
import { Libraries, type LibrariesOf, libraryOf } from '../core/owner.ts';
import { fileNameOf } from '../core/person-data.ts';
import type { RequestContext } from '../core/request-context.ts';
import { BoundedMap } from '../store/bounded-map.ts';
import { MemoryStore } from '../store/memories.ts';

/** The memories of each library, in a file that is made with the first one. */
export function openMemories(
  warn: (sentence: string) => void,
  folder = ownFolder('memories'),
): Libraries<MemoryLibrary> {
  const newId = () => randomBytes(9).toString('base64url');
  return new Libraries((library) => {
    const path = join(folder, `${fileNameOf(library)}.json`);
    return new MemoryStore({ path, warn, now: () => new Date(), newId });
  });
}

/**
 * Of all owners together: what is kept is found by hashes. In memory only: after a restart the next turn of a conversation is computed from the first message that had
 * memories.
 */
export function recallCache(): RecallCache & { clear(): void } {
  const blocks = new BoundedMap<string>({ entries: 5000, bytes: 4 * 2 ** 20 });
  return {
    get: (key) => blocks.get(key),
    set: (key, block) => blocks.set(key, block, key.length + block.length),
    clear: () => {
      for (const [key] of blocks.entries()) blocks.delete(key);
    },
  };
}

interface RecallDeps {
  readonly memories: LibrariesOf<MemoryLibrary>;
  readonly cache: RecallCache;
  readonly character: string | undefined;
  readonly embedding: EmbeddingService | undefined;
  readonly warn: (sentence: string) => void;
}

export function recallWith({ memories, cache, character, embedding, warn }: RecallDeps): Recall {
  return async (request, requestContext, use) => {
    const { sender } = requestContext;
    if (!sender) return request;
    const replyCache = use === 'reply' ? cache : { get: (key: string) => cache.get(key), set: () => undefined };
    const options = { library: memories.of(sender), character, cache: replyCache, owner: libraryOf(sender) };
    try {
      return await withMemories(request, { ...options, embed: embedding && embedWith(embedding, requestContext) });
    } catch (error) {
      requestContext.signal.throwIfAborted();
      warn(`What is remembered was left out of a prompt: ${(error as Error).message}`);
      return request;
    }
  };
}

/** Vectors by the embedding model, as a part of a request that is admitted already. */
function embedWith(embedding: EmbeddingService, { onQueued: _, watch: __, ...requestContext }: RequestContext): Embed {
  return {
    model: embedding.name,
    vectors: async (inputs) => {
      const { vectors } = await embedding.embed(
        { inputs, truncate: true },
        { ...requestContext, genkey: '', admitted: true },
      );
      return vectors.map(([vector = new Float32Array()]) => vector);
    },
  };
}
