/** Why a client uploaded a file; the words of the OpenAI API. */
export type FilePurpose = 'assistants' | 'batch' | 'fine-tune' | 'vision' | 'user_data' | 'evals' | 'batch_output';

/** A file that a client uploaded, or that the server made for it. */
export interface StoredFile {
  /** `file-…`; `file_…` names the same. */
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
  readonly mime?: string;
  readonly expiresAt?: number;
}

/** The files of one owner. */
export interface FileLibrary {
  list(): Promise<readonly StoredFile[]>;
  get(id: string): Promise<StoredFile | undefined>;
  /** Refuses with `payload-too-large` what is beyond the limit, and leaves nothing behind if it is aborted. */
  add(file: NewStoredFile, content: AsyncIterable<Uint8Array>, signal: AbortSignal): Promise<StoredFile>;
  /** Where the content lies on the disk, to be read only. */
  path(id: string): Promise<string>;
  delete(id: string): Promise<boolean>;
}
