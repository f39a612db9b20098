import { isBlankBody, jsonObject } from '../http/body.ts';
import type { Call } from '../http/call.ts';

/** The model that a request names, in whatever dialect; nothing where it names none, or is no request of that kind. */
export async function namedModel({ method, body, signal }: Call): Promise<string | undefined> {
  if (method !== 'POST' || isBlankBody(body)) return undefined;
  try {
    const { model, name } = await jsonObject(body, { empty: 'object', signal });
    const asked = typeof model === 'string' ? model : typeof name === 'string' ? name : '';
    return asked.trim() === '' ? undefined : asked.trim();
  } catch {
    // What is wrong with it is said by whoever reads it.
    return undefined;
  }
}
