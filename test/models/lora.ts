import { writeGguf } from '../../scripts/conversion/gguf-file.ts';
import { weights } from './weights.ts';

/** A LoRA with random weights for the attention of a model of the Llama architecture, strong enough to be seen. */
export async function writeTextLora(
  path: string,
  { layers, width, seed }: { readonly layers: number; readonly width: number; readonly seed: number },
): Promise<void> {
  const rank = 4;
  const { tensors, random } = weights(seed);
  for (let layer = 0; layer < layers; layer += 1)
    for (const part of ['attn_q', 'attn_v', 'attn_output']) {
      random(`blk.${layer}.${part}.weight.lora_a`, [rank, width], 0.3);
      random(`blk.${layer}.${part}.weight.lora_b`, [width, rank], 0.3);
    }
  await writeGguf(path, {
    metadata: {
      'general.type': { type: 'string', value: 'adapter' },
      'general.architecture': { type: 'string', value: 'llama' },
      'adapter.type': { type: 'string', value: 'lora' },
      'adapter.lora.alpha': { type: 'float32', value: rank },
    },
    tensors,
  });
}
