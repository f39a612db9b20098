import type { Web } from '../web.ts';

export interface Asked {
  readonly path: string;
  readonly body?: unknown;
}

/** A server of functions by path: what stands before the question mark counts. */
export function fakeWeb(answers: Readonly<Record<string, (asked: Asked) => unknown>>) {
  const asked: Asked[] = [];
  const answer = async (path: string, body?: unknown): Promise<unknown> => {
    const own = { path, ...(body === undefined ? {} : { body }) };
    asked.push(own);
    return answers[path.split('?')[0] as string]?.(own);
  };
  const web: { -readonly [Key in keyof Web]: Web[Key] } = {
    url: 'http://draw.invalid',
    headers: {},
    find: answer,
    get: (path) => answer(path),
    bytes: async (path) => (await answer(path)) as Uint8Array,
    post: answer,
    upload: (path, form) => answer(path, [...form.keys()]),
  };
  return { web, asked, bodies: (path: string) => asked.filter((each) => each.path === path).map(({ body }) => body) };
}
