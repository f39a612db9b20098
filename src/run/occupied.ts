import type { PreparedModel } from './prepared-model.ts';
import type { Selected } from './rooms.ts';

/** A model with its context, and how many requests use it. */
export interface ModelInstance<Context> {
  readonly model: PreparedModel;
  readonly context: Context;
  activeRequests: number;
  drained: (() => void) | undefined;
  /** The model could not be loaded: its requests must select another one. */
  abandoned: boolean;
  /** Settles when the registry holds this model instead of the one that had its name before. */
  registered: Promise<void>;
}

export function modelInstance<Context>(model: PreparedModel, context: Context): ModelInstance<Context> {
  return { model, context, activeRequests: 0, drained: undefined, abandoned: false, registered: Promise.resolve() };
}

export function select<Context>(instance: ModelInstance<Context>): Selected<Context> {
  instance.activeRequests += 1;
  let released = false;
  return {
    context: instance.context,
    abandoned: () => instance.abandoned,
    release: () => {
      if (released) return;
      released = true;
      instance.activeRequests -= 1;
      if (instance.activeRequests === 0) instance.drained?.();
    },
  };
}

/** Settles when no request uses the model. */
export function drain(instance: ModelInstance<unknown>): Promise<void> {
  if (instance.activeRequests === 0) return Promise.resolve();
  return new Promise((resolve) => {
    instance.drained = resolve;
  });
}
