import type { EndpointShape } from '../endpoint.ts';

/** Paths below a prefix; `{…}` are parameters. */
const below: Readonly<Record<string, readonly string[]>> = Object.fromEntries(
  ['/v1', ''].flatMap((version) => [
    [`GET ${version}/models/`, ['{id}']],
    [`GET ${version}/responses/`, ['{id}', '{id}/input_items']],
    [`DELETE ${version}/responses/`, ['{id}']],
    [`POST ${version}/responses/`, ['{id}/cancel']],
  ]),
);

/** The paths of an endpoint in the notation of OpenAPI; none for `rest`. */
export function pathsOf({ method, match, path }: Pick<EndpointShape, 'method' | 'match' | 'path'>): readonly string[] {
  if (match === 'rest') return [];
  if (match !== 'prefix') return [path];
  const rests = below[`${method} ${path}`];
  if (rests) return rests.map((rest) => `${path}${rest}`);
  return [path.endsWith('/') ? `${path}{rest}` : path];
}

/** The operations in the heading of a field table: `POST /a, /b`, `GET and POST /c`. */
export function operationsIn(heading: string): readonly string[] {
  const found: string[] = [];
  let methods: readonly string[] = [];
  for (const word of heading.split(/,\s*|\s+and\s+|\s+/)) {
    if (/^[A-Z]+$/.test(word)) methods = found.length > 0 || methods.length === 0 ? [word] : [...methods, word];
    else if (word.startsWith('/')) found.push(...methods.map((method) => `${method} ${word}`));
  }
  return found;
}

/** The original path of an alias. */
export function originalOf({ summary }: Pick<EndpointShape, 'summary'>): string | undefined {
  return /^Another name for (\/\S*[^\s.])\./.exec(summary)?.[1];
}

export function operationId(method: string, path: string): string {
  const words = path.split(/[^A-Za-z0-9]+/).filter(Boolean);
  return [method.toLowerCase(), ...words].join('_');
}
