import { read } from '../api/call.ts';
import { server } from '../models/server.svelte.ts';
import { containsWords } from '../ui/search.ts';
import { chatFields, nativeFields, type RequestValues } from './request-fields.ts';
import { defaultsOf, type ServerDefaults } from './server-defaults.ts';
import { settings } from './settings.svelte.ts';

export const tabs = ['general', 'replies', 'samplers', 'output', 'scripts', 'data', 'people', 'about'] as const;
export type Tab = (typeof tabs)[number];

/** The settings dialog. */
export const panel = $state<{ open: boolean; tab: Tab; query: string }>({ open: false, tab: 'general', query: '' });

export function openSettings(tab: Tab = panel.tab): void {
  Object.assign(panel, { open: true, tab, query: '' });
}

/** The tab in `#/settings/samplers`; undefined for other addresses. */
export function tabOf(hash: string): Tab | undefined {
  const match = /^#\/settings(?:\/(.*))?$/.exec(hash);
  return match ? (tabs.find((tab) => tab === match[1]) ?? 'general') : undefined;
}

/** Whether a setting with these texts is shown for the search. */
export function isFound(...about: readonly (string | undefined)[]): boolean {
  return containsWords(about.join(' '), panel.query);
}

/** What the server uses for fields that are left empty; read when the settings open and when the model changes. */
export const serverDefaults = $state<{ values: ServerDefaults }>({ values: defaultsOf(undefined) });

export async function readServerDefaults(): Promise<void> {
  const props = await read<unknown>('props', { background: true }).catch(() => undefined);
  if (props !== undefined) serverDefaults.values = defaultsOf(props);
}

const tokens = new Map<string, readonly number[]>();
let tokensOf = '';

/** The tokens of a text in the loaded model. */
export async function tokenize(prompt: string): Promise<readonly number[]> {
  if (tokensOf !== server.model) tokens.clear();
  tokensOf = server.model;
  const known = tokens.get(prompt);
  if (known) return known;
  const { ids } = await read<{ ids: readonly number[] }>('api/extra/tokencount', { body: { prompt, special: false } });
  tokens.set(prompt, ids);
  return ids;
}

/** The settings as fields of a chat request, with other values for some. */
export function chatSettings(other: Partial<RequestValues> = {}): Record<string, unknown> {
  return chatFields({ ...($state.snapshot(settings) as RequestValues), ...other });
}

/** The settings as fields of a request of the native API. */
export function nativeSettings(other: Partial<RequestValues> = {}): Promise<Record<string, unknown>> {
  return nativeFields({ ...($state.snapshot(settings) as RequestValues), ...other }, tokenize);
}
