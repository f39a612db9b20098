import { persistedState } from '../saved/persisted-state.svelte.ts';
import { texts } from './request-texts.ts';
import { defaultPromptValues, defaultSamplerValues, type PromptValues, type SamplerValues } from './values.ts';

export type Delivery = 'streaming' | 'polling';

type Mutable<Values> = { -readonly [Name in keyof Values]: Values[Name] };

export interface Settings extends Mutable<Omit<SamplerValues, 'replyLength' | 'sampling'>>, Mutable<PromptValues> {
  delivery: Delivery;
  /** In tokens. Not a number while the field is empty: then the server decides. */
  replyLength: number;
  /** Only values that were set, by the field names of the native API. */
  sampling: Record<string, number>;
  reasoningEffort: '' | 'none' | 'low' | 'medium' | 'high';
  showProbabilities: boolean;
  readAloud: boolean;
  voice: string;
  /** Reads what nobody says; empty for the voice that speaks. */
  narratorVoice: string;
  /** Titles of new chats are written by the model. */
  modelTitles: boolean;
  /** Chats use what is remembered. */
  useMemories: boolean;
  /** The model suggests what to remember when a chat is left. */
  suggestMemories: boolean;
  /** The key that sends a message; the other one makes a new line. */
  sendKey: 'enter' | 'ctrl-enter';
  /** A pasted text with more characters becomes a file. */
  longPaste: number;
  /** Chats, stories and characters are kept on the server too. */
  keepOnServer: boolean;
  /** Ids of the chosen presets; empty for none. */
  samplerPreset: string;
  promptPreset: string;
}

/** Values of `reasoning_effort`; empty leaves it to the model. */
export const reasoningEfforts = Object.entries(texts.efforts);

export const settings = persistedState<Settings>('parley.settings', {
  ...defaultSamplerValues,
  ...defaultPromptValues,
  delivery: 'streaming',
  replyLength: 512,
  sampling: {},
  reasoningEffort: '',
  showProbabilities: false,
  readAloud: false,
  voice: '',
  narratorVoice: '',
  modelTitles: false,
  useMemories: true,
  suggestMemories: false,
  sendKey: 'enter',
  longPaste: 4000,
  keepOnServer: false,
  samplerPreset: '',
  promptPreset: '',
});

export const appearance = persistedState<{
  theme: 'system' | 'light' | 'dark';
  textSize: 'small' | 'normal' | 'large';
  /** Its code; empty for that of the browser. Read by theme.js when a page is loaded. */
  language: string;
}>('parley.look', { theme: 'system', textSize: 'normal', language: '' });

$effect.root(() => {
  $effect(() => {
    const { dataset } = document.documentElement;
    if (appearance.theme === 'system') delete dataset.theme;
    else dataset.theme = appearance.theme;
    dataset.textSize = appearance.textSize;
  });
});
