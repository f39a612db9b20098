/** Why a client uploaded a file; the words of the OpenAI API. */
export type FilePurpose = 'assistants' | 'batch' | 'fine-tune' | 'vision' | 'user_data' | 'evals' | 'batch_output';

/** A file that a client uploaded, or that the server made for it. */
export interface StoredFile {
  /** `file-…`; `file_…` names the same. Later files have larger ids, so that a page of a list can begin after one that is gone. */
  readonly id: string;
  readonly name: string;
  readonly mime: string;
  readonly purpose: FilePurpose;
  readonly bytes: number;
  /** Seconds since 1970. */
  readonly createdAt: number;
  readonly expiresAt?: number;
}

export interface NewStoredFile extends Pick<StoredFile, 'name' | 'purpose'> {
  /** One of `newId`; adding it again replaces the file. */
  readonly id?: string;
  readonly mime?: string;
  /** Seconds from its creation to its end; undefined for none. */
  readonly expiresAfter?: number | undefined;
}

/** The files of one owner. */
export interface FileLibrary {
  /** The newest first. */
  list(): Promise<readonly StoredFile[]>;
  get(id: string): Promise<StoredFile | undefined>;
  /** Refuses with `payload-too-large` what is beyond the limit, and leaves nothing behind if it is aborted. */
  add(file: NewStoredFile, content: AsyncIterable<Uint8Array>, signal: AbortSignal): Promise<StoredFile>;
  /** Moves a file of this machine here, as `add` does with its content. */
  move(file: NewStoredFile, path: string): Promise<StoredFile>;
  /** An id for a file that is added later. */
  newId(): string;
  /** The path of the content, which must not be changed. */
  path(id: string): Promise<string>;
  delete(id: string): Promise<boolean>;
}

/** A large file that a client sends in parts. */
export interface Upload extends Pick<StoredFile, 'id' | 'name' | 'purpose' | 'createdAt'> {
  readonly mime: string;
  /** Of the whole file. */
  readonly bytes: number;
  readonly status: 'pending' | 'completed' | 'cancelled' | 'expired';
  /** When the parts are deleted, in seconds since 1970. */
  readonly expiresAt: number;
  /** The file that it became. */
  readonly file?: StoredFile;
}

export interface NewUpload extends Pick<Upload, 'name' | 'purpose' | 'mime' | 'bytes'> {
  /** When the file expires, in seconds after its creation. */
  readonly fileSeconds?: number;
}

/** The uploads of one owner. Methods throw `not-stored` for ids that this owner does not have, and `invalid-field`. */
export interface UploadLibrary {
  create(upload: NewUpload): Promise<Upload>;
  /** Moves a file of this machine here. */
  addPart(id: string, path: string): Promise<{ readonly id: string; readonly createdAt: number }>;
  /** The parts in the order of the file. */
  complete(id: string, parts: readonly string[], md5: string | undefined, signal: AbortSignal): Promise<Upload>;
  cancel(id: string): Promise<Upload>;
}
