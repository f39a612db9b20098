import type { ImageFacts } from '../../core/image.ts';
import { samplers, schedulers } from './flow/sampling.ts';

/** The built-in image model. */
export const sketch = {
  name: 'parley-sketch (built-in)',
  sha256: 'a469270a9cf6be584f482e4c5e47aef052c47e246e94e5de7ff6716639701a68',
  /** Width and height of its images. */
  side: 64,
  /** Length of the embedding of a prompt. */
  conditionLength: 384,
} as const;

export const networkScales = [2, 3, 4, 8] as const;
export type NetworkScale = (typeof networkScales)[number];

/** Names of input and output in the files of the networks. */
export const pictureInput = 'picture';
export const pictureOutput = 'larger';

export function networkName(scale: NetworkScale): string {
  return `ESRGAN-slim ${scale}x`;
}

export const builtInUpscalers: ImageFacts['upscalers'] = [
  { name: 'None', scale: 1 },
  { name: 'Nearest', scale: 4 },
  { name: 'Lanczos', scale: 4 },
  ...networkScales.map((scale) => ({ name: networkName(scale), scale })),
];

/** Known without loading the model. */
export function sketchFacts(path: string): ImageFacts {
  return {
    name: sketch.name,
    title: sketch.name,
    path,
    sha256: sketch.sha256,
    nativeSize: sketch.side,
    samplers,
    schedulers,
    upscalers: builtInUpscalers,
    previews: true,
    defaults: { steps: 16, guidance: 2.5, size: 512 },
  };
}
