import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import koffi from 'koffi';
import { Slot } from '../../src/engines/llama/worker/memory/slot.ts';
import { loadEmbedded } from '../../src/engines/llama/worker/testing/embedded.ts';

export interface Reference {
  /** What llama.cpp's own greedy sampler makes of a prompt: up to `count` tokens, the end token not among them. */
  greedy(prompt: string, count: number): { readonly tokens: readonly number[]; readonly text: string };
}

/** The model in this process, computed token by token, with llama.cpp choosing the tokens: nothing of our sampling takes part. */
export async function loadReference(): Promise<Reference> {
  const { native, context, vocabulary, contextSize } = await loadEmbedded({ contextsize: 2048, batchsize: -1 });
  const name = readdirSync(native.folder).find((file) => /^(lib)?llama\..*v\d.*\.(so|dylib|dll)$/.test(file)) ?? '';
  const library = koffi.load(join(native.folder, name));
  const newGreedy = library.func('void *llama_sampler_init_greedy(void)');
  const sample = library.func('int32 llama_sampler_sample(void *sampler, void *context, int32 index)');
  const sampler = newGreedy();
  const slot = new Slot(context, 0, contextSize);

  function step(): number {
    context.clearBatch();
    slot.fill(1);
    const result = context.decodeNow();
    if (result !== 'ok') throw new Error(`decode: ${result}`);
    slot.settle();
    if (slot.logitsRow === undefined) return step();
    return sample(sampler, context.pointer, slot.logitsRow) as number;
  }

  return {
    greedy(prompt, count) {
      slot.begin(vocabulary.tokenize(prompt, { addSpecial: true }), 0);
      const tokens: number[] = [];
      while (tokens.length < count) {
        const token = step();
        if (vocabulary.isEnd(token)) break;
        tokens.push(token);
        slot.append(token);
      }
      return { tokens, text: vocabulary.detokenize(tokens, false) };
    },
  };
}
