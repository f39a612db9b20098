import { command, read } from '../api/call.ts';
import { notify, notifyFailure } from '../ui/notices.svelte.ts';
import { awaitDownload, type Download, downloads, isGoingOn, startDownload } from './downloads.svelte.ts';
import { texts } from './hub-texts.ts';
import { arrival, arriving, modelList } from './models.svelte.ts';
import { refreshServer, server } from './server.svelte.ts';
import { embeddedModel, type LibraryEntry } from './status.ts';
import { switchTo, useModel } from './switching.svelte.ts';

/** The models on this machine. */
export const library = $state<{ entries: readonly LibraryEntry[] | undefined }>({ entries: undefined });

export async function fetchLibrary(): Promise<void> {
  try {
    library.entries = (await read<{ models: LibraryEntry[] }>('api/admin/models', { background: true })).models;
  } catch (thrown) {
    library.entries = [];
    notifyFailure(thrown);
  }
}

/** Whether it is in a folder of this program: those of others are not deleted. */
export function isOwn({ type, program }: Pick<LibraryEntry, 'type' | 'program'>): boolean {
  return type === 'model' && (program === null || program === 'Parley');
}

export async function deleteModel(filename: string): Promise<void> {
  await command('api/admin/models/delete', { filename }).finally(fetchLibrary);
}

const bareName = (name: string): string => name.replace(/^.*[\\/]/, '').replace(/\.gguf$/i, '');

/** Goes back to the model that a chat was written with. */
export async function useNamed(name: string): Promise<void> {
  const listed = modelList().find((model) => model.kind === 'text' && model.id !== null && model.name === name);
  if (listed) return useModel(listed);
  await fetchLibrary();
  const entry = library.entries?.find((one) => one.type === 'model' && bareName(one.name) === name);
  if (entry) await switchTo(entry.filename, entry.name);
  else if (name === embeddedModel) await switchTo('initial_model', name);
  else notify(texts.gone(name), { kind: 'bad' });
}

// The status of the page shows it, whether or not the panel is open.
$effect.root(() => {
  $effect(() => {
    const download = downloads.list.find(({ model }) => model === arrival.model);
    const { done_bytes: done = 0, total_bytes: total } = download ?? {};
    arriving.share = download && isGoingOn(download) ? done / (total || 1) : undefined;
  });
});

/** Downloads a model, and uses it for the chat. */
export async function downloadAndUse(model: string): Promise<void> {
  await startDownload(model, use, (name) => {
    arrival.model = name;
  });
}

/** Uses the model whose download was started before the page was loaded, when it is there. */
export async function awaitArrival(): Promise<void> {
  if (!(await awaitDownload(arrival.model, use))) arrival.model = '';
}

/** Downloads a model that is not for chats. */
export async function downloadOnly(model: string): Promise<void> {
  await startDownload(model, ({ model: name }) => {
    notify(texts.done(name));
    void fetchLibrary();
  });
}

async function use({ model, path }: Download): Promise<void> {
  if (arrival.model === model) arrival.model = '';
  await fetchLibrary();
  await refreshServer();
  const file = path?.replaceAll('\\', '/') ?? '';
  const entry = library.entries?.find(({ filename }) => file.endsWith(filename.replaceAll('\\', '/')));
  if (entry && !server.models?.router) await switchTo(entry.filename, entry.name);
  else notify(texts.done(model));
}
