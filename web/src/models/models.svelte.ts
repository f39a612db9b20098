import { call, read } from '../api/call.ts';
import { Failure, sentenceOf } from '../api/failure.ts';
import { persistedState } from '../saved/persisted-state.svelte.ts';
import { notify, notifyFailure } from '../ui/notices.svelte.ts';
import { refreshServer, server } from './server.svelte.ts';
import { answering, type HubEntry, type LibraryEntry, type ModelStatus, switchEnded } from './status.ts';
import { texts } from './texts.ts';

/** The text model that the person chose, by id; the empty string for the default one. */
export const choice = persistedState('parley.model', { id: '' });

export const panel = $state<{ open: boolean }>({ open: false });

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

export const library = $state<{ entries: readonly LibraryEntry[] | undefined }>({ entries: undefined });

export async function fetchLibrary(): Promise<void> {
  try {
    library.entries = (await read<{ models: LibraryEntry[] }>('api/admin/models', { background: true })).models;
  } catch (thrown) {
    library.entries = [];
    notifyFailure(thrown);
  }
}

interface Download {
  readonly source: string;
  done: number;
  total: number | undefined;
  readonly stop: AbortController;
}

export const downloads = $state<{ running: Download | undefined }>({ running: undefined });

/** A line of Ollama's pull. */
interface PullLine {
  readonly status?: string;
  readonly completed?: number;
  readonly total?: number;
  readonly error?: string;
}

/** One page of models on the hub. */
export function searchHub(words: string, cursor: string | null, signal: AbortSignal) {
  const query = new URLSearchParams({ q: words, ...(cursor === null ? {} : { cursor }) });
  return read<{ readonly models: readonly HubEntry[]; readonly next: string | null }>(`api/admin/search?${query}`, {
    signal,
  });
}

/** Downloads a model, and switches to it where only one answers. */
export async function pullModel(source: string): Promise<void> {
  if (downloads.running) return;
  const stop = new AbortController();
  const before = new Set(library.entries?.map(({ filename }) => filename));
  downloads.running = { source, done: 0, total: undefined, stop };
  try {
    const response = await call('api/pull', { body: { model: source }, signal: stop.signal });
    for await (const { completed, total, error } of jsonLines<PullLine>(response)) {
      if (error !== undefined) throw new Failure(error);
      if (completed !== undefined) Object.assign(downloads.running, { done: completed, total });
    }
    notify(texts.find.done(source));
    await fetchLibrary();
    await refreshServer();
    const added = library.entries?.find(({ filename }) => !before.has(filename));
    if (added && !server.models?.router) void switchTo(added.filename, added.name);
  } catch (thrown) {
    if (stop.signal.aborted) notify(texts.find.cancelled);
    else notify(texts.find.failed(source, sentenceOf(thrown)), { kind: 'bad' });
  } finally {
    downloads.running = undefined;
  }
}

/** The values of a body with one JSON object per line. */
export async function* jsonLines<Value>({ body }: Pick<Response, 'body'>): AsyncGenerator<Value> {
  if (!body) return;
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  for (;;) {
    const { done, value = '' } = await reader.read();
    const lines = (rest + value).split('\n');
    rest = done ? '' : (lines.pop() ?? '');
    for (const line of lines) if (line.trim() !== '') yield JSON.parse(line) as Value;
    if (done) return;
  }
}
