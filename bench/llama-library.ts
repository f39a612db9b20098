import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import koffi from 'koffi';
import type { Pointer } from '../src/engines/llama/worker/native/structs.ts';

/** The few calls of the library that only the benches need. */
export function openLlama(folder: string) {
  const load = (pattern: RegExp) =>
    koffi.load(join(folder, readdirSync(folder).find((name) => pattern.test(name)) ?? ''));
  load(/^(lib)?ggml-base\.(so|dylib|dll)$/);
  load(/^(lib)?ggml\..*v\d.*\.(so|dylib|dll)$/);
  const llama = load(/^(lib)?llama\..*v\d.*\.(so|dylib|dll)$/);
  const declare = <Signature>(prototype: string) => llama.func(prototype) as unknown as Signature;
  return {
    greedySampler: declare<() => Pointer>('void *llama_sampler_init_greedy(void)'),
    sample: declare<(sampler: Pointer, context: Pointer, index: number) => number>(
      'int32 llama_sampler_sample(void *sampler, void *context, int32 index)',
    ),
  };
}
