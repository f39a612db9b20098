import { AppError } from '../core/errors.ts';
import type { PresetFacts } from '../core/models-view.ts';
import { Uses } from '../core/synchronization.ts';
import type { PreparedModel } from './prepared-model.ts';

/** A model that can be requested by name. Its file is read only when a request names it. */
export interface ModelOffer {
  /** The model's own name first, then every other name that it answers to. */
  readonly names: readonly string[];
  readonly path: string | undefined;
  /** Before its name where a model of this machine has the same. */
  readonly prefix?: 'remote' | 'engine';
  /** Set for generation settings that have a name of their own. They are served by the engine of their base. */
  readonly preset?: PresetFacts & {
    /** Changes with the settings. */
    readonly version: string;
    /** Why it cannot be used, a sentence. */
    readonly problem: string | undefined;
  };
  /** Prepares the model under its own name; a preset on top of its base. */
  readonly prepare: (name: string, base?: PreparedModel) => Promise<PreparedModel>;
}

/** A model that is in use until it is released: a swap waits for that. */
export interface Selected<Context> {
  readonly context: Context;
  release(): void;
  /** Whether the model could not be loaded, so that the request must select again. */
  abandoned?(): boolean;
}

/** A model with its context, and the requests that use it. */
export interface ModelInstance<Context> {
  readonly model: PreparedModel;
  readonly context: Context;
  readonly uses: Uses;
  /** The model could not be loaded, or is swapped out: its requests must select another one. */
  abandoned: boolean;
  /** Settles when the registry holds this model instead of the one that had its name before. */
  registered: Promise<void>;
  isRegistered: boolean;
  /** By name, those that were requested. */
  readonly presets: Map<string, { readonly version: string; readonly context: Promise<Context> }>;
}

export function modelInstance<Context>(model: PreparedModel, context: Context): ModelInstance<Context> {
  const registered = { registered: Promise.resolve(), isRegistered: true };
  return { model, context, uses: new Uses(), abandoned: false, ...registered, presets: new Map() };
}

export type SelectedInstance<Context> = Selected<Context> & { readonly instance: ModelInstance<Context> };

export function select<Context>(instance: ModelInstance<Context>): SelectedInstance<Context> {
  return { instance, context: instance.context, abandoned: () => instance.abandoned, release: instance.uses.begin() };
}

/** The base of a preset. Throws if the preset cannot be used. */
export function baseOf({ names: [model = ''], preset }: ModelOffer): string {
  const { base = '', problem } = preset ?? {};
  if (problem !== undefined) throw new AppError('model-load-failed', { model, reason: problem });
  return base;
}

/** A preset of the model that is selected, with a context of its own. It is made once, and again after a change. */
export async function selectPreset<Context>(
  { names: [name = ''], preset, prepare }: ModelOffer,
  base: SelectedInstance<Context>,
  contextOf: ((base: Context, preset: PreparedModel) => Context) | undefined,
): Promise<SelectedInstance<Context>> {
  const { model, context, presets } = base.instance;
  const { version = '' } = preset ?? {};
  const make = async (): Promise<Context> => {
    if (!contextOf) throw new Error('presets are not served here');
    return contextOf(context, await prepare(name, model));
  };
  const before = presets.get(name);
  const known = before?.version === version ? before : { version, context: make() };
  presets.set(name, known);
  try {
    return { ...base, context: await known.context };
  } catch (error) {
    if (presets.get(name) === known) presets.delete(name);
    base.release();
    throw new AppError('model-load-failed', { model: name, reason: (error as Error).message }, { cause: error });
  }
}
