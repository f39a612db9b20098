import type { EmbeddingOptions } from '../src/engines/embedding/host.ts';
import { type EmbeddingModel, loadEmbeddingModel, PooledContexts } from '../src/engines/embedding/worker/model.ts';

/**
 * The least that must be done to get vectors out of the library: read the texts, compute them together. A process of its own,
 * so that it shares nothing with what it is compared to.
 */
export type ToEmbeddingLoop =
  | { readonly type: 'load'; readonly options: EmbeddingOptions }
  | { readonly type: 'run'; readonly batches: readonly (readonly string[])[] };

export type FromEmbeddingLoop = { readonly type: 'loaded' } | { readonly type: 'ran'; readonly milliseconds: number };

let ready: { readonly model: EmbeddingModel; readonly contexts: PooledContexts } | undefined;

process.on('disconnect', () => process.exit(0));
process.on('message', async (message: ToEmbeddingLoop) => {
  if (message.type === 'load') {
    const { options } = message;
    const unwatched = {
      here: <Result>(_: number, work: () => Result) => work(),
      aside: <Result>(_: number, work: () => Promise<Result>) => work(),
      serving: () => undefined,
    };
    const tools = { progress: () => undefined, note: () => undefined, watch: unwatched };
    const model = await loadEmbeddingModel(options, tools);
    ready = { model, contexts: new PooledContexts(model, options) };
    answer({ type: 'loaded' });
  } else if (ready) {
    answer({ type: 'ran', milliseconds: await run(ready.model, ready.contexts, message.batches) });
  }
});

function answer(message: FromEmbeddingLoop): void {
  process.send?.(message);
}

async function run(
  { vocabulary, facts }: EmbeddingModel,
  contexts: PooledContexts,
  batches: readonly (readonly string[])[],
): Promise<number> {
  const startedAt = performance.now();
  for (const texts of batches) {
    const read = texts.map((text) => vocabulary.tokenize(text, { addSpecial: true }));
    // As many as the library computes best at once.
    while (read.length > 0) await contexts.compute(facts.pooling, read.splice(0, portion(read, contexts.limit)));
  }
  return performance.now() - startedAt;
}

function portion(texts: readonly Int32Array[], { tokens, sequences }: PooledContexts['limit']): number {
  let sum = 0;
  const over = texts.findIndex(({ length }) => {
    sum += length;
    return sum > tokens;
  });
  return Math.min(sequences, over === -1 ? texts.length : Math.max(1, over));
}
