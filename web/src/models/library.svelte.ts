import { read } from '../api/call.ts';
import { notify, notifyFailure } from '../ui/notices.svelte.ts';
import { awaitDownload, type Download, downloads, isGoingOn, startDownload } from './downloads.svelte.ts';
import { texts } from './hub-texts.ts';
import { arrival, arriving, switchTo } from './models.svelte.ts';
import { refreshServer, server } from './server.svelte.ts';
import type { LibraryEntry } from './status.ts';

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
