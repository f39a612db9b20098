import type { ImageRequest } from '../../../core/image.ts';

/** A graph as the tool takes it: nodes by their ids. */
export type Graph = Readonly<Record<string, { readonly class_type: string; readonly inputs: object }>>;

export interface GraphParts {
  readonly checkpoint: string;
  /** By the names under which the pictures were sent before. */
  readonly initial?: string | undefined;
  readonly mask?: string | undefined;
}

/** One picture: others come from graphs of their own, since seeds of a batch do not count up there. */
export function drawingGraph(request: ImageRequest, { checkpoint, initial, mask }: GraphParts): Graph {
  const { width, height, loras = [] } = request;
  const changed = loras.map(({ name, weight }, index) => ({ id: `lora${index}`, name, weight }));
  const before = (index: number): string => changed[index - 1]?.id ?? 'model';
  const last = before(changed.length);
  const clip = request.clipSkip > 1 ? ['skip', 0] : [last, 1];
  return {
    model: node('CheckpointLoaderSimple', { ckpt_name: checkpoint }),
    ...Object.fromEntries(
      changed.map(({ id, name, weight }, index) => [
        id,
        node('LoraLoader', {
          model: [before(index), 0],
          clip: [before(index), 1],
          lora_name: name,
          strength_model: weight,
          strength_clip: weight,
        }),
      ]),
    ),
    ...(request.clipSkip > 1
      ? { skip: node('CLIPSetLastLayer', { clip: [last, 1], stop_at_clip_layer: -request.clipSkip }) }
      : {}),
    positive: node('CLIPTextEncode', { text: request.prompt, clip }),
    negative: node('CLIPTextEncode', { text: request.negativePrompt, clip }),
    ...startNodes(initial, mask, { width, height }),
    sampler: node('KSampler', {
      model: [last, 0],
      positive: ['positive', 0],
      negative: ['negative', 0],
      latent_image: [initial && mask ? 'masked' : 'latent', 0],
      seed: request.seed,
      steps: request.steps,
      cfg: request.guidance,
      sampler_name: request.sampler,
      scheduler: request.scheduler,
      denoise: initial ? request.strength : 1,
    }),
    pixels: node('VAEDecode', { samples: ['sampler', 0], vae: ['model', 2] }),
    output: node('PreviewImage', { images: ['pixels', 0] }),
  };
}

export function upscalingGraph(picture: string, upscaler: string, size: { width: number; height: number }): Graph {
  const plain = /^(?:none|nearest|lanczos)$/i.exec(upscaler)?.[0]?.toLowerCase();
  const method = plain === 'nearest' ? 'nearest-exact' : 'lanczos';
  return {
    picture: node('LoadImage', { image: picture }),
    ...(plain === undefined
      ? {
          loader: node('UpscaleModelLoader', { model_name: upscaler }),
          larger: node('ImageUpscaleWithModel', { upscale_model: ['loader', 0], image: ['picture', 0] }),
        }
      : {}),
    sized: node('ImageScale', {
      image: [plain === undefined ? 'larger' : 'picture', 0],
      upscale_method: method,
      ...size,
      crop: 'disabled',
    }),
    output: node('PreviewImage', { images: ['sized', 0] }),
  };
}

function startNodes(
  initial: string | undefined,
  mask: string | undefined,
  size: { width: number; height: number },
): Graph {
  if (initial === undefined) return { latent: node('EmptyLatentImage', { ...size, batch_size: 1 }) };
  return {
    picture: node('LoadImage', { image: initial }),
    latent: node('VAEEncode', { pixels: ['picture', 0], vae: ['model', 2] }),
    ...(mask === undefined
      ? {}
      : {
          mask: node('LoadImageMask', { image: mask, channel: 'red' }),
          masked: node('SetLatentNoiseMask', { samples: ['latent', 0], mask: ['mask', 0] }),
        }),
  };
}

function node(classType: string, inputs: object) {
  return { class_type: classType, inputs };
}
