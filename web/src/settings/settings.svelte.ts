import { persistedState } from '../saved/persisted-state.svelte.ts';

export type Delivery = 'streaming' | 'polling';

export interface Settings {
  delivery: Delivery;
  /** In tokens. */
  replyLength: number;
  /** Only values that differ from the defaults, by the field names of the native API. */
  sampling: Record<string, number>;
  /** System prompt of all chats without their own. */
  systemPrompt: string;
  reasoningEffort: '' | 'none' | 'low' | 'medium' | 'high';
  showProbabilities: boolean;
  readAloud: boolean;
  voice: string;
  /** Key that sends a message. */
  sendKey: 'enter' | 'ctrl-enter';
  /** Characters above which pasted text becomes a file; 0 for no limit. */
  longPaste: number;
}

/** Values of `reasoning_effort`; empty leaves it to the model. */
export const reasoningEfforts: readonly { readonly value: Settings['reasoningEffort']; readonly label: string }[] = [
  { value: '', label: 'Reasoning: default' },
  { value: 'none', label: 'Reasoning: none' },
  { value: 'low', label: 'Reasoning: low' },
  { value: 'medium', label: 'Reasoning: medium' },
  { value: 'high', label: 'Reasoning: high' },
];

export const settings = persistedState<Settings>('parley.settings', {
  delivery: 'streaming',
  replyLength: 512,
  sampling: {},
  systemPrompt: '',
  reasoningEffort: '',
  showProbabilities: false,
  readAloud: false,
  voice: '',
  sendKey: 'enter',
  longPaste: 4000,
});

export const appearance = persistedState<{
  theme: 'system' | 'light' | 'dark';
  textSize: 'small' | 'normal' | 'large';
}>('parley.look', { theme: 'system', textSize: 'normal' });

$effect.root(() => {
  $effect(() => {
    const { dataset } = document.documentElement;
    if (appearance.theme === 'system') delete dataset.theme;
    else dataset.theme = appearance.theme;
    dataset.textSize = appearance.textSize;
  });
});
