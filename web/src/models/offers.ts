import { persistedState } from '../saved/persisted-state.svelte.ts';
import { notify } from '../ui/notices.svelte.ts';
import { mayChange, modelList, openModels, panel } from './models.svelte.ts';
import { texts } from './recommendation-texts.ts';

/** The built-in models that a pack has a better one for. */
const builtIn = { speech: 'flite', transcription: 'moonshine-tiny', image: 'parley-sketch' } as const;

const offered = persistedState<Partial<Record<keyof typeof builtIn, boolean>>>('parley.offers', {});

export function openPacks(): void {
  panel.packs = true;
  openModels();
}

/** After the first use of a built-in model, offers the pack with a better one to people who may install it. */
export function offerPack(kind: keyof typeof builtIn): void {
  const isBuiltIn = modelList().some((model) => model.kind === kind && model.name.startsWith(builtIn[kind]));
  if (!isBuiltIn || offered[kind] || !mayChange()) return;
  offered[kind] = true;
  notify(texts.packs[kind], { action: { label: texts.showPacks, run: openPacks } });
}
