import { setImmediate as settled } from 'node:timers/promises';
import type { Lifecycle, LifecycleState } from '../src/models/lifecycle.ts';
import { Registry } from '../src/models/registry.ts';
import type { SwapLimits } from '../src/models/swap-order.ts';
import { Queue } from '../src/queue/queue.ts';
import { seededRandom } from './seeded-random.ts';
import { percentile } from './statistics.ts';

/** A request, once its model is loaded and it has its turn. */
export interface SwapRequest {
  readonly atMs: number;
  readonly model: string;
  readonly ms: number;
}

export interface SwapTraffic {
  /** In the order of arrival. */
  readonly requests: readonly SwapRequest[];
  /** How long each model takes to load. */
  readonly loadMs: Readonly<Record<string, number>>;
  /** How many models fit into memory. */
  readonly room: number;
  /** `--parallelrequests` */
  readonly parallel: number;
}

export interface SwapOutcome {
  /** Until it has its turn and its model, for each request. */
  readonly waitedMs: readonly number[];
  /** How many models were loaded meanwhile, for each request. */
  readonly loadsSeen: readonly number[];
  readonly loads: number;
  readonly endMs: number;
}

interface Event {
  readonly at: number;
  readonly order: number;
  readonly action: () => void;
}

/** Events in the order of a simulated clock. All that one causes at once happens before the next. */
class Events {
  now = 0;
  #order = 0;
  readonly #events = new Set<Event>();

  at(at: number, action: () => void): { cancel(): void } {
    this.#order += 1;
    const event = { at, order: this.#order, action };
    this.#events.add(event);
    return { cancel: () => this.#events.delete(event) };
  }

  async run(): Promise<void> {
    for (let next = this.#next(); next; next = this.#next()) {
      this.#events.delete(next);
      this.now = next.at;
      next.action();
      await settled();
    }
  }

  #next(): Event | undefined {
    let first: Event | undefined;
    for (const event of this.#events)
      if (!first || event.at < first.at || (event.at === first.at && event.order < first.order)) first = event;
    return first;
  }
}

class SimulatedModel implements Lifecycle {
  #state: LifecycleState = { type: 'loading', progress: 0 };
  readonly #loaded: Promise<void>;
  #done = () => {};

  constructor(
    private readonly events: Events,
    private readonly loadMs: number,
  ) {
    this.#loaded = new Promise((resolve) => {
      this.#done = resolve;
    });
  }

  start(): void {
    this.events.at(this.events.now + this.loadMs, () => {
      this.#state = { type: 'ready' };
      this.#done();
    });
  }

  async stop(): Promise<void> {}

  state(): LifecycleState {
    return this.#state;
  }

  settled(): Promise<void> {
    return this.#loaded;
  }
}

/** Requests of several models that share the memory of a machine, with the registry and the queue of the server. */
export async function simulateSwaps(
  { requests, loadMs, room, parallel }: SwapTraffic,
  /** By the time, so that a run can be continued in order. */
  limits: (now: number) => SwapLimits,
): Promise<SwapOutcome> {
  const events = new Events();
  let loads = 0;
  const registry = new Registry({
    memoryBudget: () => ({ bytes: Number.POSITIVE_INFINITY, count: room }),
    now: () => events.now,
    startTimer: (milliseconds, action) => events.at(events.now + milliseconds, action),
    defaultKeepMs: () => Number.POSITIVE_INFINITY,
    swapLimits: {
      get seconds() {
        return limits(events.now).seconds;
      },
      get swaps() {
        return limits(events.now).swaps;
      },
    },
    observer: {
      loaded: () => {
        loads += 1;
      },
    },
  });
  for (const [name, milliseconds] of Object.entries(loadMs)) {
    const make = () => new SimulatedModel(events, milliseconds);
    registry.add({ name, kind: 'text', need: async () => 1, make });
  }
  const queue = new Queue({
    capacity: parallel,
    maxRequests: () => Number.POSITIVE_INFINITY,
    now: () => events.now,
  });
  const waitedMs: number[] = new Array(requests.length).fill(Number.POSITIVE_INFINITY);
  const loadsSeen: number[] = new Array(requests.length).fill(0);
  const serve = async ({ atMs, model, ms }: SwapRequest, index: number): Promise<void> => {
    const loadsBefore = loads;
    const expected = registry.expect('text', model);
    const ticket = queue.enter({ lane: model });
    await ticket.turn;
    const { release } = await registry.use('text', model, undefined, { expected });
    waitedMs[index] = events.now - atMs;
    loadsSeen[index] = loads - loadsBefore;
    events.at(events.now + ms, () => {
      release();
      ticket.leave();
    });
  };
  for (const [index, request] of requests.entries()) events.at(request.atMs, () => void serve(request, index));
  await events.run();
  return { waitedMs, loadsSeen, loads, endMs: events.now };
}

/** Requests at random moments, as many in the mean as named. */
export function mixedTraffic(
  models: Readonly<
    Record<string, { readonly perMinute: number; readonly seconds: number; readonly loadSeconds: number }>
  >,
  { minutes, room, parallel, seed }: { minutes: number; room: number; parallel: number; seed: number },
): SwapTraffic {
  const random = seededRandom(seed);
  const exponential = (mean: number): number => -Math.log(1 - random()) * mean;
  const requests: SwapRequest[] = [];
  for (const [model, { perMinute, seconds }] of Object.entries(models))
    for (let atMs = exponential(60_000 / perMinute); atMs < minutes * 60_000; atMs += exponential(60_000 / perMinute))
      requests.push({ atMs, model, ms: exponential(seconds * 1000) });
  const loadMs = Object.fromEntries(Object.entries(models).map(([name, one]) => [name, one.loadSeconds * 1000]));
  return { requests: requests.sort((a, b) => a.atMs - b.atMs), loadMs, room, parallel };
}

export const inOrder: SwapLimits = { seconds: 0, swaps: 0 };

export async function swapFigures(traffic: SwapTraffic, limits: SwapLimits) {
  const { waitedMs, loads } = await simulateSwaps(traffic, () => limits);
  const seconds = waitedMs.map((one) => one / 1000);
  const mean = seconds.reduce((sum, one) => sum + one, 0) / seconds.length;
  return { loads, mean, high: percentile(seconds, 0.95), longest: Math.max(...seconds) };
}
