import { persistedState } from '../saved/persisted-state.svelte.ts';
import { refreshServer, server } from './server.svelte.ts';
import { answering, type ModelStatus, modelName } from './status.ts';

/** The text model that the person chose, by id; the empty string for the default one. */
export const choice = persistedState('parley.model', { id: '' });

/** The model that is being downloaded for the chat, as the server names it; empty if there is none. */
export const arrival = persistedState('parley.arrival', { model: '' });

/** How much of it is there; undefined while it is not being downloaded. */
export const arriving = $state<{ share: number | undefined }>({ share: undefined });

/** The panel of all models, and whether its packs are shown. */
export const panel = $state({ open: false, packs: false });

export function openModels(): void {
  panel.open = true;
  void refreshServer();
}

export function modelList(): readonly ModelStatus[] {
  return server.models?.models ?? [];
}

/** The id for requests; undefined if the server has no choice, or the chosen model is gone. */
export function chosenModel(): string | undefined {
  if (choice.id === '') return undefined;
  return modelList().some(({ id }) => id === choice.id) ? choice.id : undefined;
}

/** Display name of the text model that answers next; empty if there is none. */
export function answeringModel(): string {
  return (server.models ? answering(modelList(), chosenModel())?.name : undefined) ?? server.model;
}

/** Whether the model of this name, as it stands in replies, answers next. True while that is not known. */
export function isAnswering(name: string): boolean {
  const next = server.models ? answering(modelList(), chosenModel()) : undefined;
  const names = next ? [next.name, modelName(next.id ?? '')] : [modelName(server.model)];
  return names.includes(name) || names.every((one) => one === '');
}

/** Whether this person may load and unload models. */
export function mayChange(): boolean {
  return server.models?.admin.allowed ?? false;
}
