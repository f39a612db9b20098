import type { Settings } from '../../settings/settings.svelte.ts';

/** How much a model is to think before it answers. */
export const efforts: readonly { readonly value: Settings['reasoningEffort']; readonly label: string }[] = [
  { value: '', label: 'Thinks as it likes' },
  { value: 'none', label: 'Does not think' },
  { value: 'low', label: 'Thinks little' },
  { value: 'medium', label: 'Thinks some' },
  { value: 'high', label: 'Thinks much' },
];
