import type { Watch } from '../../../host/vital-signs.ts';
import type { Engine } from './library.ts';
import { StepPace } from './step-pace.ts';

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
