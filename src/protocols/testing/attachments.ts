import { Attachments } from '../media.ts';
import { readyState, seeing } from './doubles.ts';

/** What a request is decoded into when the model takes text only. */
export function blind(): Attachments {
  return new Attachments(readyState(), { addresses: true });
}

/** … and when it takes pictures and sounds. */
export function sighted({ addresses = true } = {}): Attachments {
  return new Attachments(seeing(), { addresses });
}
