import type { JsonObject } from '../../../http/body.ts';

type Inputs = Readonly<Record<string, unknown>>;
export type Nodes = Readonly<Record<string, { readonly class_type: string; readonly inputs: Inputs }>>;

export const node = (classType: string, inputs: Inputs = {}) => ({ class_type: classType, inputs });

/** The default workflow of ComfyUI. */
export function stockGraph(sampler: Inputs = {}, more: Nodes = {}): Nodes {
  return {
    '3': node('KSampler', {
      seed: 12,
      steps: 4,
      cfg: 6,
      sampler_name: 'euler_ancestral',
      scheduler: 'karras',
      denoise: 1,
      model: ['4', 0],
      positive: ['6', 0],
      negative: ['7', 0],
      latent_image: ['5', 0],
      ...sampler,
    }),
    '4': node('CheckpointLoaderSimple', { ckpt_name: 'model.safetensors' }),
    '5': node('EmptyLatentImage', { width: 128, height: 64, batch_size: 1 }),
    '6': node('CLIPTextEncode', { text: 'a boat', clip: ['4', 1] }),
    '7': node('CLIPTextEncode', { text: 'fog', clip: ['4', 1] }),
    '8': node('VAEDecode', { samples: ['3', 0], vae: ['4', 2] }),
    '9': node('SaveImage', { images: ['8', 0], filename_prefix: 'demo' }),
    ...more,
  };
}

export const stockBody = (more: JsonObject = {}): JsonObject => ({ prompt: stockGraph(), ...more });
