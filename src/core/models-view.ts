import type { TextModel } from './text-service.ts';

/** A model that can be requested by name, loaded or not. */
export interface ListedModel {
  readonly name: string;
  /** Its id in all lists; requests with this id get this model. */
  readonly id: string;
  /** Other names that it answers to. */
  readonly aliases?: readonly string[];
  /** Whether it answers requests that name no model. */
  readonly present: boolean;
  readonly state: 'unloaded' | 'loading' | 'ready' | 'failed' | 'leaving';
  /** Its file, where it is known. */
  readonly path?: string | undefined;
  readonly known?: TextModel | undefined;
  /** Memory in bytes, measured or expected. */
  readonly bytes?: number | undefined;
  /** Milliseconds since 1970 when it is unloaded unless it is used; infinite for never. */
  readonly expiresAt: number;
}

export interface ModelSwap {
  readonly options: () => Promise<readonly string[]>;
  /** False if the name is no option, or cannot be served. The swap begins after the answer is sent. */
  readonly reload: (option: string, base: string | undefined) => Promise<boolean>;
}

/** The models of a server with several of them. */
export interface ModelsView {
  /** The current list, the default model first. */
  readonly list: () => Promise<readonly ListedModel[]>;
  readonly swap: ModelSwap | undefined;
  /** Whether requests select their model by name. */
  readonly byName: boolean;
}
