import type { Settings } from '../../settings/settings.svelte.ts';

/** How much a model is to think before it answers. */
export const efforts: readonly { readonly value: Settings['reasoningEffort']; readonly label: string }[] = [
  { value: '', label: 'Reasoning: default' },
  { value: 'none', label: 'Reasoning: none' },
  { value: 'low', label: 'Reasoning: low' },
  { value: 'medium', label: 'Reasoning: medium' },
  { value: 'high', label: 'Reasoning: high' },
];
