import { AppError } from '../../../core/errors.ts';
import type { ImageRequest } from '../../../core/image.ts';
import { sketch } from '../facts.ts';
import { type SamplerName, samplers } from '../flow/samplers.ts';
import { type Scheduler, schedulers, stepsFor, timesOf } from '../flow/schedule.ts';
import { chosenName } from './chosen.ts';

export const longestSide = 2048;
export const mostPictures = 16;
const mostSteps = 150;

export interface Plan {
  readonly sampler: SamplerName;
  readonly scheduler: Scheduler;
  readonly times: readonly number[];
  readonly steps: number;
  readonly guidance: number;
  readonly notes: readonly string[];
}

type Asked = Omit<ImageRequest, 'initial' | 'mask'>;

/** What is done for a request, and what is told about it. Throws for what is beyond all bounds. */
export function planOf(request: Asked, given: { readonly initial: boolean; readonly shortened: boolean }): Plan {
  within('width', request.width, longestSide);
  within('height', request.height, longestSide);
  within('the number of pictures', request.count, mostPictures);
  const sampler = chosenName('sampler', request.sampler, samplers);
  const scheduler = chosenName('scheduler', request.scheduler, schedulers);
  const asked = Math.min(mostSteps, Math.max(1, Math.round(request.steps)));
  const strength = given.initial ? Math.min(1, Math.max(0, request.strength)) : 1;
  const steps = stepsFor(asked, strength);
  const notes = [
    sampler.note,
    scheduler.note,
    request.steps > mostSteps ? `More than ${mostSteps} steps are not taken.` : undefined,
    given.shortened ? 'The prompt is longer than the model can read; its end was left out.' : undefined,
    request.clipSkip > 1 ? 'The model has no layers of a text encoder to leave out (clip_skip).' : undefined,
    sizeNote(request, given.initial),
  ].filter((note) => note !== undefined);
  return {
    sampler: sampler.name,
    scheduler: scheduler.name,
    times: timesOf(scheduler.name, steps, strength),
    steps,
    guidance: request.guidance,
    notes,
  };
}

function sizeNote({ width, height }: Asked, hasInitial: boolean): string | undefined {
  const { side } = sketch;
  if (width === side && height === side) return undefined;
  const larger = Math.max(width, height) > side;
  const how = larger ? `brought to ${width}×${height} by an upscaler` : `made smaller, to ${width}×${height}`;
  const drawn = `The model draws ${side}×${side}; the picture was ${how}.`;
  if (width === height) return drawn;
  return hasInitial
    ? `${drawn} What it saw of the initial picture was a square of it, stretched.`
    : `${drawn} It is a square whose edges go on ${width > height ? 'to the left and right' : 'above and below'}.`;
}

function within(field: string, value: number, most: number): void {
  if (Number.isInteger(value) && value >= 1 && value <= most) return;
  throw new AppError('invalid-field', { field, expected: `a whole number from 1 to ${most}` });
}
