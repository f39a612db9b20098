import type { ImageFacts } from '../../core/image.ts';
import { samplers, schedulers } from './flow/draw.ts';

/** The picture model that comes along. */
export const sketch = {
  name: 'parley-sketch (built-in)',
  sha256: 'a469270a9cf6be584f482e4c5e47aef052c47e246e94e5de7ff6716639701a68',
  /** The side of what it draws. */
  side: 64,
  /** Numbers of what it is told about the prompt. */
  conditionLength: 384,
} as const;

export const networkScales = [2, 3, 4, 8] as const;
export type NetworkScale = (typeof networkScales)[number];

export function networkName(scale: NetworkScale): string {
  return `ESRGAN-slim ${scale}x`;
}

/** Those that need no file from anybody. */
export const builtInUpscalers: ImageFacts['upscalers'] = [
  { name: 'None', scale: 1 },
  { name: 'Nearest', scale: 4 },
  { name: 'Lanczos', scale: 4 },
  ...networkScales.map((scale) => ({ name: networkName(scale), scale })),
];

/** What is to be known of it without loading it. */
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
    defaults: { steps: 16, guidance: 2.5, size: 512 },
  };
}
