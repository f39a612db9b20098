import { addressOf } from '../api/address.ts';
import { texts } from './texts.ts';

/** A response of the launcher; throws its error messages. */
export async function ask<Answer>(name: string, body?: object): Promise<Answer> {
  const response = await fetch(addressOf(`launcher/${name}`), {
    method: body === undefined ? 'GET' : 'POST',
    headers: body === undefined ? {} : { 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const answer = (await response.json().catch(() => ({}))) as Answer & { readonly problems?: readonly string[] };
  if (response.ok) return answer;
  throw new LauncherError(answer.problems ?? [texts.problems.status(response.status)], answer);
}

export class LauncherError extends Error {
  readonly problems: readonly string[];
  readonly answer: object;

  constructor(problems: readonly string[], answer: object = {}) {
    super(problems.join(' '));
    this.problems = problems;
    this.answer = answer;
  }
}

export function problemsOf(thrown: unknown): readonly string[] {
  if (thrown instanceof LauncherError) return thrown.problems;
  return [texts.problems.gone];
}
