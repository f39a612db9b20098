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

/** Names of models are compared without regard to case and the tag that means no tag. */
export function equalName(left: string, right: string): boolean {
  return plain(left) === plain(right);
}

/** The same, and without regard to the ending of a file. */
export function sameName(left: string, right: string): boolean {
  return withoutEnding(left) === withoutEnding(right);
}

function withoutEnding(name: string): string {
  return plain(name).replace(/\.(gguf|kcpps|kcppt)$/, '');
}

function plain(name: string): string {
  return name
    .toLowerCase()
    .replace(/:latest$/, '')
    .replace(/^koboldcpp\//, '');
}
