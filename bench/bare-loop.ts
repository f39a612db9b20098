import type { LoadOptions } from '../src/engines/llama/load-options.ts';
import { type Loaded, loadModel } from '../src/engines/llama/worker/load/model.ts';
import { openLlama } from './llama-library.ts';

/**
 * The least that must be done to get text out of the library: read a prompt, then decode and choose the best token with
 * the library's own sampler, over and over. A process of its own, so that it shares nothing with what it is compared to.
 */
export type ToBareLoop =
  | { readonly type: 'load'; readonly options: LoadOptions }
  | { readonly type: 'run'; readonly prompt: string; readonly tokens: number };

export type FromBareLoop = { readonly type: 'loaded' } | ({ readonly type: 'ran' } & BareRun);

export interface BareRun {
  readonly promptTokens: number;
  /** From the text to the first chosen token. */
  readonly promptMs: number;
  /** From the first chosen token to the last. */
  readonly generationMs: number;
}

let ready: { readonly loaded: Loaded; readonly next: () => number } | undefined;

process.on('disconnect', () => process.exit(0));
process.on('message', async (message: ToBareLoop) => {
  if (message.type === 'load') {
    const loaded = await loadModel(message.options, () => {});
    ready = { loaded, next: greedy(loaded) };
    answer({ type: 'loaded' });
  } else if (ready) {
    answer({ type: 'ran', ...run(ready.loaded, ready.next, message.prompt, message.tokens) });
  }
});

function answer(message: FromBareLoop): void {
  process.send?.(message);
}

function greedy({ native, context }: Loaded): () => number {
  const { greedySampler, sample } = openLlama(native.folder);
  const sampler = greedySampler();
  return () => sample(sampler, context.pointer, -1);
}

function run({ context, vocabulary }: Loaded, next: () => number, prompt: string, tokens: number): BareRun {
  const startedAt = performance.now();
  context.forget(0, 0);
  const read = vocabulary.tokenize(prompt, { addSpecial: true });
  for (let start = 0; start < read.length; start += context.batchCapacity) {
    const end = Math.min(start + context.batchCapacity, read.length);
    context.clearBatch();
    for (let index = start; index < end; index += 1) {
      context.add(read[index] as number, index, 0, index === read.length - 1);
    }
    decode(context);
  }
  let token = next();
  const firstAt = performance.now();
  for (let count = 1; count < tokens; count += 1) {
    context.clearBatch();
    context.add(token, read.length + count - 1, 0, true);
    decode(context);
    token = next();
  }
  return { promptTokens: read.length, promptMs: firstAt - startedAt, generationMs: performance.now() - firstAt };
}

function decode(context: Loaded['context']): void {
  const result = context.decodeNow();
  if (result !== 'ok') throw new Error(`the decode ended with: ${result}`);
}
