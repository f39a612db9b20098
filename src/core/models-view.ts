import type { TextModel } from './text-service.ts';

/** A model that can be asked for by name, whether it is in memory or not. */
export interface ListedModel {
  readonly name: string;
  /** Under which all lists show it; a request that names it is answered by this model. */
  readonly id: string;
  /** What else it answers to. */
  readonly aliases?: readonly string[];
  /** Whether it answers requests that name no model. */
  readonly present: boolean;
  readonly state: 'unloaded' | 'loading' | 'ready' | 'failed' | 'leaving';
  /** Its file, where it is known. */
  readonly path?: string | undefined;
  /** What was seen of it when it was last in memory. */
  readonly known?: TextModel | undefined;
  /** What it takes in memory, or is expected to. */
  readonly bytes?: number | undefined;
  /** Milliseconds since 1970 when it goes unless it is used; infinite for never. */
  readonly expiresAt: number;
}

/** Swapping what a running server serves. */
export interface ModelSwap {
  readonly options: () => Promise<readonly string[]>;
  /** False where the name is not one of the options, or what it names cannot be served. It happens after the answer. */
  readonly reload: (option: string, base: string | undefined) => Promise<boolean>;
}

/** All models that a server with several of them knows. */
export interface ModelsView {
  /** As things are now; the one that answers who names none comes first. */
  readonly list: () => Promise<readonly ListedModel[]>;
  readonly swap: ModelSwap | undefined;
  /** Whether requests choose their model by its name. */
  readonly byName: boolean;
}
