import type { ImageRequest } from '../../../core/image.ts';

/** One that a decoder could have made. */
export function imageRequest(changes: Partial<ImageRequest> = {}): ImageRequest {
  return {
    prompt: 'a red apple',
    negativePrompt: '',
    width: 64,
    height: 64,
    steps: 2,
    guidance: 1,
    sampler: 'Euler',
    scheduler: 'Simple',
    seed: 1,
    count: 1,
    clipSkip: 0,
    strength: 1,
    previewEvery: 0,
    ...changes,
  };
}
