import { number, translatable } from '../languages/index.ts';
import type { LoadStatus } from './load-settings.ts';

export const texts = translatable('loading', {
  title: 'How it is loaded',
  automatic: 'automatic',
  context: 'Context size in tokens',
  layers: 'Layers on graphics cards',
  cacheType: 'Type of the KV cache',
  cacheHint: 'Smaller types save memory and lose precision.',
  automaticType: (type: string) => `automatic (${type})`,
  flashAttention: 'Flash attention',
  load: 'Load again',
  loading: 'Loading …',
  note: 'Takes effect once all running replies are finished. Empty fields are automatic. Kept for this model; flags of the next start win.',
  save: 'Save as a config',
  saved: (path: string) => `Saved: ${path}`,
  loaded: (name: string) => `${name} is loaded with these settings.`,
  now: (tokens: number) => `Now ${number(tokens)}`,
  trained: (tokens: number) => `trained for ${number(tokens)}`,
  nowLayers: (layers: number, all: number) => `Now ${number(layers)} of ${number(all)}`,
  failed: (name: string, reason: string) => `${name} stays as it was: ${reason}`,
});

export function contextLine({ context, trained_context }: LoadStatus['in_use']): string {
  return [
    ...(context === null ? [] : [texts.now(context)]),
    ...(trained_context === null ? [] : [texts.trained(trained_context)]),
  ].join(', ');
}

export function layersLine({ layers, gpu_layers }: LoadStatus['in_use']): string {
  return layers === null ? '' : texts.nowLayers(gpu_layers ?? 0, layers);
}
