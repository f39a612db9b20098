import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import koffi from 'koffi';
import { declaring } from '../src/engines/llama/worker/native/native.ts';

/** The few calls of the library that only the benches need. */
export function openLlama(folder: string) {
  const load = (pattern: RegExp) =>
    koffi.load(join(folder, readdirSync(folder).find((name) => pattern.test(name)) ?? ''));
  load(/^(lib)?ggml-base\.(so|dylib|dll)$/);
  load(/^(lib)?ggml\..*v\d.*\.(so|dylib|dll)$/);
  const llama = declaring(load(/^(lib)?llama\..*v\d.*\.(so|dylib|dll)$/));
  return {
    greedySampler: llama('pointer llama_sampler_init_greedy(void)'),
    sample: llama('int32 llama_sampler_sample(pointer sampler, pointer context, int32 index)'),
  };
}
