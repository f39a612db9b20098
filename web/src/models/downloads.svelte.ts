import { Polled } from './polled.svelte.ts';

/** A download of `GET /api/admin/downloads`. It goes on without the page. */
export interface Download {
  readonly model: string;
  readonly state: 'running' | 'waiting' | 'stopped' | 'failed' | 'done';
  readonly done_bytes: number;
  readonly total_bytes: number | null;
  readonly bytes_per_second: number;
  readonly reason: string | null;
  /** The model file, when it is done. */
  readonly path: string | null;
}

export const isGoingOn = ({ state }: Pick<Download, 'state'>): boolean => state === 'running' || state === 'waiting';

/** What to do when a download is done, by its model. */
const awaited = new Map<string, (download: Download) => void>();

export const downloads = new Polled<'downloads', Download>('api/admin/downloads', 'downloads', isGoingOn, (list) => {
  for (const download of list) {
    const whenDone = download.state === 'done' ? awaited.get(download.model) : undefined;
    if (!whenDone) continue;
    awaited.delete(download.model);
    whenDone(download);
    void downloads.change('/remove', { model: download.model }).catch(() => {});
  }
});

/** Starts or resumes; `onStart` gets the name that the server has for it. */
export function startDownload(
  model: string,
  whenDone: (download: Download) => void,
  onStart: (name: string) => void = () => {},
): Promise<void> {
  return downloads.change('', { model }, (name) => {
    onStart(name);
    awaited.set(name, whenDone);
  });
}

/** For a download that was started before the page was loaded. Resolves to false if there is none. */
export async function awaitDownload(model: string, whenDone: (download: Download) => void): Promise<boolean> {
  awaited.set(model, whenDone);
  const answered = await downloads.refresh();
  return !answered || downloads.list.some((download) => download.model === model);
}
