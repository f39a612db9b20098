import { call, read } from '../api/call.ts';
import { Failure, sentenceOf } from '../api/failure.ts';
import { notify, notifyFailure } from '../ui/notices.svelte.ts';
import { texts } from './hub-texts.ts';
import { switchTo } from './models.svelte.ts';
import { refreshServer, server } from './server.svelte.ts';
import type { LibraryEntry } from './status.ts';

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
    notify(texts.done(source));
    await fetchLibrary();
    await refreshServer();
    const added = library.entries?.find(({ filename }) => !before.has(filename));
    if (added && !server.models?.router) void switchTo(added.filename, added.name);
  } catch (thrown) {
    if (stop.signal.aborted) notify(texts.cancelled);
    else notify(texts.failed(source, sentenceOf(thrown)), { kind: 'bad' });
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
