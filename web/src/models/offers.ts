import { persistedState } from '../saved/persisted-state.svelte.ts';
import { notify } from '../ui/notices.svelte.ts';
import { mayChange, modelList, openModels, panel } from './models.svelte.ts';

/** The built-in model of a kind, and what the pack for it brings. */
const offers = {
  speech: ['flite', 'The pack voices brings natural voices in seven languages.'],
  transcription: ['moonshine-tiny', 'The pack ears understands 99 languages and makes fewer errors.'],
  image: ['parley-sketch', 'The pack diffusion draws with larger models, for photos and paintings.'],
} as const;

export const showPacks = 'Show packs';

const offered = persistedState<Partial<Record<keyof typeof offers, boolean>>>('parley.offers', {});

export function openPacks(): void {
  panel.packs = true;
  openModels();
}

/** After the first use of a built-in model, offers the pack with a better one to people who may install it. */
export function offerPack(kind: keyof typeof offers): void {
  const [name, text] = offers[kind];
  const isBuiltIn = modelList().some((model) => model.kind === kind && model.name.startsWith(name));
  if (!isBuiltIn || offered[kind] || !mayChange()) return;
  offered[kind] = true;
  notify(text, { action: { label: showPacks, run: openPacks } });
}
