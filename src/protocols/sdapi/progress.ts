import type { Drawings, ImageProgress } from '../../core/image.ts';
import type { Call } from '../../http/call.ts';
import type { LastDrawings } from './drawings.ts';
import { timestamp } from './info.ts';

/** What reading the prompt is worth, of all the work. */
const begun = 0.03;

/** From 0 to nearly 1: it is 1 only when the answer is there. */
export function shareDone({
  step,
  steps,
  pictures,
  count,
}: Pick<ImageProgress, 'step' | 'steps' | 'pictures' | 'count'>): number {
  const share = (pictures + Math.min(step, steps) / (steps + 0.8)) / Math.max(1, count);
  return Math.round((begun + (1 - begun) * Math.min(0.999, share)) * 10_000) / 10_000;
}

export interface ProgressParts {
  readonly drawings: Drawings;
  readonly last: Pick<LastDrawings, 'stopped'>;
  readonly now: number;
}

/**
 * What is drawn now, by whichever model and in whatever dialect it was asked for; of several the oldest. Everybody sees how far it is, as the clients of the original expect;
 * the picture so far is shown to whoever knows the key of the request (the task of the original, the prompt of ComfyUI), and a
 * key that is another's sees nothing at all.
 */
export function progressReply({ query }: Pick<Call, 'query'>, { drawings, last, now }: ProgressParts): object {
  const genkey = askedKey(query);
  const seen = drawings.progress(genkey);
  if (!seen) return idle(now, last.stopped);
  const { step, steps, pictures, count, secondsSoFar, preview } = seen;
  const progress = shareDone(seen);
  const hidden = genkey === '' || query.get('skip_current_image') === 'true';
  return {
    progress,
    eta_relative: Math.round(secondsSoFar * (1 / progress - 1) * 100) / 100,
    state: {
      ...stateOf(now, last.stopped),
      skipped: seen.skipped,
      job: 'scripts_txt2img',
      job_count: count,
      job_no: pictures,
      sampling_step: step,
      sampling_steps: steps,
    },
    current_image: preview && !hidden ? Buffer.from(preview).toString('base64') : null,
    current_task: genkey === '' ? null : genkey,
    textinfo: step === 0 ? 'Status: conditioning' : `Status: diffusing, Step: ${step}/${steps}`,
  };
}

/** By either of the names that a key has; empty for none. */
export function askedKey(query: URLSearchParams): string {
  return query.get('genkey') || query.get('id_task') || '';
}

/** Clients wait for exactly these two zeros. */
function idle(now: number, stopped: boolean): object {
  return {
    progress: 0,
    eta_relative: 0,
    state: stateOf(now, stopped),
    current_image: null,
    current_task: null,
    textinfo: null,
  };
}

function stateOf(now: number, interrupted: boolean) {
  return {
    skipped: false,
    interrupted,
    stopping_generation: false,
    job: '',
    job_count: 0,
    job_timestamp: timestamp(now),
    job_no: 0,
    sampling_step: 0,
    sampling_steps: 0,
  };
}
