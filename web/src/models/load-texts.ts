import type { LoadStatus } from './load-settings.ts';

const count = (value: number): string => value.toLocaleString('en');

export const texts = {
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
  failed: (name: string, reason: string) => `${name} stays as it was: ${reason}`,
};

export function contextLine({ context, trained_context }: LoadStatus['in_use']): string {
  return [
    ...(context === null ? [] : [`Now ${count(context)}`]),
    ...(trained_context === null ? [] : [`trained for ${count(trained_context)}`]),
  ].join(', ');
}

export function layersLine({ layers, gpu_layers }: LoadStatus['in_use']): string {
  return layers === null ? '' : `Now ${gpu_layers ?? 0} of ${layers}`;
}
