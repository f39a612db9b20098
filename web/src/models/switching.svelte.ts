import { call, read } from '../api/call.ts';
import { Failure } from '../api/failure.ts';
import { notify, notifyFailure, reported } from '../ui/notices.svelte.ts';
import { choice, mayChange, modelList } from './models.svelte.ts';
import { texts } from './panel-texts.ts';
import { refreshServer, server } from './server.svelte.ts';
import { type ModelStatus, switchEnded } from './status.ts';

/** Uses this model for all further requests, and loads it now if this person may; else the next request does. */
export async function useModel({ id }: ModelStatus): Promise<void> {
  if (id === null) return;
  choice.id = id;
  if (mayChange()) await change('load', id);
}

export async function change(action: 'load' | 'unload', model: string): Promise<void> {
  await reported(async () => {
    await call(`models/${action}`, { body: { model } });
  });
  await refreshServer();
}

export const swap = $state<{ name: string | undefined }>({ name: undefined });

/** How often the state is fetched during a switch, and how long at most. */
const lookMs = 400;
const maxLooks = 150;

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
    for (let look = 0; look < maxLooks; look++) {
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
