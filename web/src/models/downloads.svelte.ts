import { command, read } from '../api/call.ts';

/** How often a list is fetched while something in it is going on, and while the server does not answer. */
const busyMs = 1000;
const retryMs = 5000;

/** A list of the server, fetched again as long as something in it is going on. */
export class Polled<Name extends string, Entry> {
  list = $state.raw<readonly Entry[]>([]);
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(
    private readonly path: string,
    private readonly name: Name,
    private readonly isBusy: (entry: Entry) => boolean,
    private readonly onList: (list: readonly Entry[]) => void = () => {},
  ) {}

  /** Resolves to whether the server has answered. */
  async refresh(): Promise<boolean> {
    clearTimeout(this.#timer);
    let answered = true;
    try {
      this.list = (await read<Record<Name, readonly Entry[]>>(this.path, { background: true }))[this.name];
      this.onList(this.list);
    } catch {
      answered = false;
    }
    if (this.list.some(this.isBusy)) this.#timer = setTimeout(() => void this.refresh(), answered ? busyMs : retryMs);
    return answered;
  }

  /** Changes something on the server, and fetches the list. Throws if the server refuses. */
  async change(action: '' | `/${string}`, body: object, onAccepted: (name: string) => void = () => {}): Promise<void> {
    try {
      const { model = '' } = await command<{ model?: string }>(`${this.path}${action}`, body);
      onAccepted(model);
    } finally {
      await this.refresh();
    }
  }
}

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

/** A pack of `GET /api/admin/packs`: an optional engine. */
export interface PackEntry {
  readonly name: string;
  readonly brings: string;
  readonly licence: string;
  readonly bytes: number;
  readonly state: 'absent' | 'broken' | 'outdated' | 'installed';
  /** False for a pack that was installed after the present model was prepared. */
  readonly in_use: boolean;
  readonly job: {
    readonly state: 'waiting' | 'running' | 'failed';
    readonly done_bytes: number;
    readonly total_bytes: number;
    readonly reason: string | null;
  } | null;
}

export const packs = new Polled<'packs', PackEntry>(
  'api/admin/packs',
  'packs',
  ({ job }) => job !== null && job.state !== 'failed',
);
