import type { Settings } from '../config/flags.ts';

/** How much longer than in the order of arrival a request may wait for its model, while others for what is loaded go first. */
export interface SwapLimits {
  readonly seconds: number;
  /** As many times as long as its model takes to load. */
  readonly swaps: number;
}

/** A request whose model can only be loaded once another one has left. */
export interface WaitingRequest {
  /** Smaller for one that came earlier. */
  readonly order: number;
  /** How long it has waited for requests that came later. */
  readonly delayedMs: number;
  /** How long its model took to load the last time; undefined until a model has been loaded. */
  readonly loadMs: number | undefined;
}

/** A loaded model that has to leave: its requests, by their `order`. */
export interface LeavingModel {
  readonly running: readonly number[];
  readonly queued: readonly number[];
}

export function swapLimits({ swapdelay, swapdelayswaps }: Pick<Settings, 'swapdelay' | 'swapdelayswaps'>): SwapLimits {
  return { seconds: swapdelay, swaps: swapdelayswaps };
}

/** How long a request may wait for later ones, in all: both limits hold. */
export function maxDelayMs({ seconds, swaps }: SwapLimits, loadMs: number | undefined): number {
  if (swaps === 0) return 0;
  return Math.min(seconds * 1000, loadMs === undefined ? Number.POSITIVE_INFINITY : swaps * loadMs);
}

/** Whether a request waits for later ones now: all requests of the model came after it. */
export function isDelayed({ order }: WaitingRequest, { running, queued }: LeavingModel): boolean {
  return running.length + queued.length > 0 && [...running, ...queued].every((other) => other > order);
}

/**
 * How long the model may stay for its own requests while others wait for it to leave: 0 for not at all, infinite for as long as
 * nothing changes. Requests that came earlier go first in any case. Every waiting request limits the rest, however many swaps are
 * before it, so that none waits longer because another one came first.
 */
export function stayMs(model: LeavingModel, waiting: readonly WaitingRequest[], limits: SwapLimits): number {
  if (model.running.length + model.queued.length === 0) return 0;
  return Math.min(
    ...waiting.map((request) => {
      if (model.queued.some((other) => other < request.order)) return Number.POSITIVE_INFINITY;
      const left = Math.max(0, maxDelayMs(limits, request.loadMs) - request.delayedMs);
      return left > 0 && !isDelayed(request, model) ? Number.POSITIVE_INFINITY : left;
    }),
  );
}
