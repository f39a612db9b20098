import { AppError } from '../../core/errors.ts';
import type { ImageJobs, ImageProgress } from '../../core/image.ts';
import { type Owner, ownerOf } from '../../core/owner.ts';
import type { Call } from '../../http/call.ts';
import { BoundedMap } from '../../store/bounded-map.ts';
import { clientOf } from '../request-context.ts';

/** The last reply of each genkey, by its owner, and whose drawings were interrupted. */
export class LastDrawings {
  readonly #replies = new BoundedMap<object>({ entries: 16, bytes: 64 * 2 ** 20 });
  readonly #interrupted = new Set<Owner>();

  /** A new request removes the last reply of its genkey, and the mark of an interruption. */
  begin(owner: Owner, genkey: string): void {
    this.#replies.delete(nameOf(owner, genkey));
    this.#interrupted.delete(owner);
  }

  interrupt(owner: Owner): void {
    this.#interrupted.add(owner);
  }

  forget(owner: Owner): void {
    this.#replies.deleteOf(owner);
    this.#interrupted.delete(owner);
  }

  wasInterrupted(owner: Owner): boolean {
    return this.#interrupted.has(owner);
  }

  remember(owner: Owner, genkey: string, reply: object, images: readonly string[]): void {
    const bytes = images.reduce((sum, image) => sum + image.length, 0);
    if (genkey !== '') this.#replies.set(nameOf(owner, genkey), reply, bytes, owner);
  }

  lastOf(owner: Owner, genkey: string): object | undefined {
    return this.#replies.get(nameOf(owner, genkey));
  }
}

const nameOf = (owner: Owner, genkey: string): string => `${owner}\n${genkey}`;

/** The last reply of a genkey, for clients that lost their connection. */
export function lastDrawing(call: Pick<Call, 'query' | 'key'>, last: LastDrawings): object {
  const genkey = call.query.get('genkey') ?? '';
  if (genkey === '') throw new AppError('missing-parameter', { parameter: 'genkey', expected: 'that of a drawing' });
  const reply = last.lastOf(ownerOf(call), genkey);
  if (!reply) throw new AppError('not-stored', { what: 'picture for the genkey', id: genkey.slice(0, 200) });
  return reply;
}

/** The share of reading the prompt. */
const promptShare = 0.03;

/** From 0 to nearly 1: it is 1 only when the reply is sent. */
export function shareDone(progress: Pick<ImageProgress, 'step' | 'steps' | 'images' | 'count'>): number {
  const { step, steps, images, count } = progress;
  const share = (images + Math.min(step, steps) / (steps + 0.8)) / Math.max(1, count);
  return Math.round((promptShare + (1 - promptShare) * Math.min(0.999, share)) * 10_000) / 10_000;
}

type Poll = Pick<Call, 'query' | 'key' | 'remoteAddress'>;

/**
 * The oldest running image job, of any model and dialect. All clients see its progress, as in the original, except that keys of
 * `--keyfile` only see their own. The preview is only for the genkey of the request (the task id of the original, the prompt id of
 * ComfyUI). A wrong genkey sees nothing.
 */
export function progressReply(call: Poll, imageJobs: ImageJobs, last: LastDrawings, now: number) {
  const { query } = call;
  const genkey = keyOf(query);
  const seen = imageJobs.progress(genkey, clientOf(call));
  const idle = {
    skipped: false,
    interrupted: last.wasInterrupted(ownerOf(call)),
    stopping_generation: false,
    job: '',
    job_count: 0,
    job_timestamp: timestamp(now),
    job_no: 0,
    sampling_step: 0,
    sampling_steps: 0,
  };
  // Clients wait for exactly these two zeros.
  const zeros = { progress: 0, eta_relative: 0 };
  // Whether get_last.json has the reply of this key, so that clients need not try.
  const stored = genkey === '' ? {} : { stored: last.lastOf(ownerOf(call), genkey) !== undefined };
  if (!seen) return { ...zeros, state: idle, current_image: null, current_task: null, textinfo: null, ...stored };
  const { skipped, step, steps, images, count, secondsSoFar, preview } = seen;
  const progress = shareDone(seen);
  const hidden = genkey === '' || query.get('skip_current_image') === 'true';
  const job = { job: 'scripts_txt2img', job_count: count, job_no: images };
  return {
    progress,
    eta_relative: Math.round(secondsSoFar * (1 / progress - 1) * 100) / 100,
    state: { ...idle, skipped, ...job, sampling_step: step, sampling_steps: steps },
    current_image: preview && !hidden ? Buffer.from(preview).toString('base64') : null,
    current_task: genkey === '' ? null : genkey,
    textinfo: step === 0 ? 'Status: conditioning' : `Status: diffusing, Step: ${step}/${steps}`,
    ...stored,
  };
}

/** The key under either of its names; empty for none. */
export function keyOf(query: URLSearchParams): string {
  return query.get('genkey') || query.get('id_task') || '';
}

/** `20260115093000` */
export function timestamp(milliseconds: number): string {
  return new Date(milliseconds).toISOString().replace(/\D/g, '').slice(0, 14);
}
