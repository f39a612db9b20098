import { atEnd } from '../core/steps.ts';
import * as f from './fields.ts';

/** How long the model stays loaded after a request, in milliseconds. */
const readTtl: f.Read<number> = f.described({ type: 'number', minimum: 0 }, (value, path) => {
  if (typeof value !== 'number' || !(value >= 0)) throw f.wrong(path, 'a number of seconds, not below 0');
  return value * 1000;
});

/** As LM Studio has it. */
export const ttlField = f.honoured(
  f.optional(readTtl),
  'Seconds without a request after which the model is unloaded, until it is loaded again; 0 unloads it after this one.',
);

interface Keeper {
  keepFor?(milliseconds: number): void;
}

/** The same events; the model is kept for so long after their end. */
export function keptAfter<Event>(
  events: AsyncIterable<Event>,
  milliseconds: number | undefined,
  model: Keeper,
): AsyncIterable<Event> {
  return milliseconds === undefined ? events : atEnd(events, () => model.keepFor?.(milliseconds));
}
