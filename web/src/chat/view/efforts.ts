import type { Settings } from '../../settings/settings.svelte.ts';

/** How much a model is to think before it answers. */
export const efforts: readonly {
  readonly value: Settings['reasoningEffort'];
  readonly short: string;
  readonly label: string;
}[] = [
  { value: '', short: 'As it likes', label: 'Thinks as it likes' },
  { value: 'none', short: 'Not at all', label: 'Does not think' },
  { value: 'low', short: 'Little', label: 'Thinks little' },
  { value: 'medium', short: 'Some', label: 'Thinks some' },
  { value: 'high', short: 'Much', label: 'Thinks much' },
];
