import type { ImageServerConnection } from '../server.ts';

export interface Asked {
  readonly path: string;
  readonly body?: unknown;
}

/** A backend of functions by path: what stands before the question mark counts. */
export function fakeConnection(answers: Readonly<Record<string, (asked: Asked) => unknown>>) {
  const asked: Asked[] = [];
  const answer = async (path: string, body?: unknown): Promise<unknown> => {
    const own = { path, ...(body === undefined ? {} : { body }) };
    asked.push(own);
    return answers[path.split('?')[0] as string]?.(own);
  };
  const connection: { -readonly [Key in keyof ImageServerConnection]: ImageServerConnection[Key] } = {
    json: (_method, path, body) => answer(path, body),
    bytes: async (path, { body }) => (await answer(path, body)) as Buffer,
    upload: (path, form) => answer(path, [...form.keys()]),
  };
  return {
    connection,
    asked,
    bodies: (path: string) => asked.filter((each) => each.path === path).map(({ body }) => body),
  };
}
