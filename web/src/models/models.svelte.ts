import { call, read } from '../api/call.ts';
import { Failure } from '../api/failure.ts';
import { persistedState } from '../saved/persisted-state.svelte.ts';
import { notify, notifyFailure } from '../ui/notices.svelte.ts';
import { refreshServer, server } from './server.svelte.ts';
import { answering, type ModelStatus, switchEnded } from './status.ts';
import { texts } from './texts.ts';

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
  if (!server.features.router || choice.id === '') return undefined;
  return modelList().some(({ id }) => id === choice.id) ? choice.id : undefined;
}

/** Display name of the text model that answers next; empty if there is none. */
export function answeringModel(): string {
  return (server.models ? answering(modelList(), chosenModel())?.name : undefined) ?? server.model;
}

/** Whether this person may load and unload models. */
export function mayChange(): boolean {
  return server.models?.admin.allowed ?? false;
}

/** Uses this model for all further requests, and loads it now if this person may; else the next request does. */
export async function useModel({ id }: ModelStatus): Promise<void> {
  if (id === null) return;
  choice.id = id;
  if (mayChange()) await change('load', id);
}

export async function change(action: 'load' | 'unload', model: string): Promise<void> {
  try {
    await call(`models/${action}`, { body: { model } });
  } catch (thrown) {
    notifyFailure(thrown);
  }
  await refreshServer();
}

export const swap = $state<{ name: string | undefined }>({ name: undefined });

/** How often the state is fetched during a switch, and how long at most. */
const lookMs = 400;
const mostLooks = 150;

/** Switches the server to a model or a config. Resolves when that is done or has failed. */
export async function switchTo(filename: string, name: string): Promise<void> {
  const before = modelList();
  swap.name = name;
  try {
    const { success, error } = await read<{ success: boolean; error?: string }>('api/admin/reload_config', {
      body: { filename },
    });
    if (!success)
      throw new Failure(error === undefined ? texts.panel.refused(name) : texts.panel.switchFailed(name, error));
    choice.id = '';
    for (let look = 0; look < mostLooks; look++) {
      await new Promise((resolve) => setTimeout(resolve, lookMs));
      await refreshServer();
      if (server.models && switchEnded(before, server.models)) break;
    }
    const failure = server.models?.last_failure;
    if (failure) throw new Failure(texts.panel.switchFailed(failure.name, failure.reason));
    notify(texts.panel.switched(name));
  } catch (thrown) {
    notifyFailure(thrown);
  } finally {
    swap.name = undefined;
  }
}
