import type { EndpointShape } from '../endpoint.ts';

/** `POST /v1/messages`: how an operation is called in the tables. */
export type OperationName = `${EndpointShape['method']} /${string}`;

/** What stands below a path that owns everything there; `{…}` are the parts that vary. */
const below: Readonly<Record<string, readonly string[]>> = {
  'GET /v1/models/': ['{id}'],
  'GET /models/': ['{id}'],
  'GET /v1/responses/': ['{id}', '{id}/input_items'],
  'DELETE /v1/responses/': ['{id}'],
  'POST /v1/responses/': ['{id}/cancel'],
  'GET /responses/': ['{id}', '{id}/input_items'],
  'DELETE /responses/': ['{id}'],
  'POST /responses/': ['{id}/cancel'],
};

/** The paths of an endpoint as OpenAPI writes them; what is nowhere in particular has none. */
export function pathsOf({ method, match, path }: Pick<EndpointShape, 'method' | 'match' | 'path'>): readonly string[] {
  if (match === 'rest') return [];
  if (match !== 'prefix') return [path];
  const rests = below[`${method} ${path}`];
  if (rests) return rests.map((rest) => `${path}${rest}`);
  return [path.endsWith('/') ? `${path}{rest}` : path];
}

/** The operations that the heading of a table of fields names: `POST /a, /b`, `GET and POST /c`. */
export function operationsIn(heading: string): readonly OperationName[] {
  const found: OperationName[] = [];
  let methods: readonly string[] = [];
  for (const word of heading.split(/,\s*|\s+and\s+|\s+/)) {
    if (/^[A-Z]+$/.test(word)) methods = found.length > 0 || methods.length === 0 ? [word] : [...methods, word];
    else if (word.startsWith('/')) found.push(...methods.map((method) => `${method} ${word}` as OperationName));
  }
  return found;
}

/** Where an endpoint is only another name, the path of the one that it stands for. */
export function originalOf({ summary }: Pick<EndpointShape, 'summary'>): string | undefined {
  return /^Another name for (\/\S*[^\s.])\./.exec(summary)?.[1];
}

/** Unique, since method and path are. */
export function operationId(method: string, path: string): string {
  const words = path.split(/[^A-Za-z0-9]+/).filter(Boolean);
  return [method.toLowerCase(), ...words].join('_');
}
