export const downloadStates = ['running', 'waiting', 'stopped', 'failed', 'done'] as const;

/** The download of a model with all that belongs to it. */
export interface DownloadStatus {
  /** The name for `start`, `stop` and `remove`. */
  readonly model: string;
  readonly state: (typeof downloadStates)[number];
  readonly doneBytes: number;
  /** Unknown before the hub has answered. */
  readonly totalBytes: number | undefined;
  readonly bytesPerSecond: number;
  /** Why it failed, or waits, as a part of a sentence. */
  readonly reason: string | undefined;
  /** The model file, when it is done. */
  readonly path: string | undefined;
}

/** Downloads that go on without a client, and in the next run of the server. */
export interface ModelDownloads {
  /** Oldest first. */
  list(): Promise<readonly DownloadStatus[]>;
  /** Starts or resumes. Resolves to the name in the list; undefined if this is no name of a model. */
  start(model: string): Promise<string | undefined>;
  /** False if there is no such download. What was downloaded is kept. */
  stop(model: string): Promise<boolean>;
  /** Takes it off the list and deletes its files, unless it is done. False if there is no such download. */
  remove(model: string): Promise<boolean>;
}

/** What the next run of the server knows about a download. It resumes those that were running or waiting. */
export interface SavedDownload {
  readonly model: string;
  readonly state: Exclude<DownloadStatus['state'], 'done'>;
  /** The files that it has begun. */
  readonly files: readonly string[];
  readonly done: number;
  readonly total?: number | undefined;
  readonly reason?: string | undefined;
}
