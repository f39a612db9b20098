import type { Watch } from '../../../host/heartbeat.ts';
import type { Engine } from './library.ts';

/** A state is copied in memory, and a picture is read on another thread: neither has a known pace, but both have an end. */
const boundsMs = { state: 60_000, medium: 600_000 };

/** The engine with the watchdog told of each call that may take long, and how long it may take. */
export function watchedEngine(engine: Engine, watch: Watch, now: () => number): Engine {
  const { native, media } = engine;
  const pace = new StepPace();
  const paced =
    (step: typeof native.decode): typeof native.decode =>
    async (context, batch) => {
      const rows = batch.n_tokens;
      const startedAt = now();
      const result = await watch.aside(pace.boundMs(rows), () => step(context, batch));
      pace.took(rows, now() - startedAt);
      return result;
    };
  return {
    ...engine,
    native: {
      ...native,
      decodeNow: (context, batch) => {
        const startedAt = now();
        const result = watch.here(pace.boundMs(batch.n_tokens), () => native.decodeNow(context, batch));
        pace.took(batch.n_tokens, now() - startedAt);
        return result;
      },
      decode: paced(native.decode),
      encode: paced(native.encode),
      stateGet: (...state) => watch.here(boundsMs.state, () => native.stateGet(...state)),
      stateSet: (...state) => watch.here(boundsMs.state, () => native.stateSet(...state)),
    },
    media: media && {
      ...media,
      encode: (...chunk) => watch.aside(boundsMs.medium, () => media.encode(...chunk)),
      decode: (...chunk) => watch.aside(boundsMs.medium, () => media.decode(...chunk)),
    },
  };
}

/** What a step may take at least, however fast the model is: others use the machine too. */
const leastMs = 8000;
/** A step this many times slower than the slowest of late does not end any more. */
const tolerance = 10;
/** A single slow step is forgotten after some hundred others. */
const memory = 0.99;

/**
 * How long a step of the model may take before it hangs. A small model has its tokens in milliseconds and a huge one on an old
 * machine in minutes; what is sound for this one here is learned from its own steps, of which the first warms it up.
 */
export class StepPace {
  #slowestRowMs = 0;

  boundMs(rows: number): number {
    return Math.max(leastMs, tolerance * rows * this.#slowestRowMs);
  }

  took(rows: number, milliseconds: number): void {
    this.#slowestRowMs = Math.max(this.#slowestRowMs * memory, milliseconds / Math.max(1, rows));
  }
}
