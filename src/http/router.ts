import type { Endpoint } from './call.ts';

/**
 * Paths match by their ending, because apps put the server behind prefixes of their own (`/koboldcpp/api/v1/generate`).
 * A few must match whole, and some own everything below them. Exact beats ending, a longer ending beats a shorter one,
 * and a prefix comes last, the longest first. What is left over goes to the rest below a path, unless the path is known
 * for other methods.
 */
export type Route = Pick<Endpoint, 'method' | 'match' | 'path'>;
export type Method = Route['method'];

export interface Router<Found> {
  /** Takes a plain path (`plainPath`). */
  find(method: string, path: string): Found | undefined;
  /** The methods that do exist for this path: empty means that nobody knows it, or only as the rest. */
  methods(path: string): readonly Method[];
}

interface Table<Found> {
  readonly exact: Map<string, Found>;
  readonly ending: Map<string, Found>;
  readonly prefix: Map<string, Found>;
  readonly rest: Map<string, Found>;
}

export const methods = ['GET', 'POST', 'PUT', 'DELETE'] as const satisfies readonly Method[];

export function router<Found extends Route>(routes: readonly Found[]): Router<Found> {
  const tables = new Map<string, Table<Found>>(methods.map((method) => [method, emptyTable()]));
  for (const route of routes) enter(tables.get(route.method)?.[route.match], route);
  const known = new Map([...tables].map(([method, table]) => [method, finder(table)]));
  const rest = new Map([...tables].map(([method, table]) => [method, below(table.rest)]));
  const knownMethods = (path: string) => methods.filter((method) => known.get(method)?.(path) !== undefined);
  return {
    find: (method, path) =>
      known.get(method)?.(path) ?? (knownMethods(path).length === 0 ? rest.get(method)?.(path) : undefined),
    methods: knownMethods,
  };
}

/** The query string and trailing slashes never choose the endpoint, and `/lcpp/x` is another name for `/x`. */
export function plainPath(target: string): string {
  const path = sentPath(target);
  let end = path.length;
  while (end > 0 && path[end - 1] === '/') end--;
  const bare = path.slice(0, end);
  return (bare.startsWith('/lcpp/') ? bare.slice('/lcpp'.length) : bare) || '/';
}

/** The path as the client wrote it. Proxies may send the whole address (`GET http://name/path`); its name is dropped. */
export function sentPath(target: string): string {
  const query = target.indexOf('?');
  const path = query === -1 ? target : target.slice(0, query);
  return path.replace(/^https?:\/\/[^/]*/i, '');
}

export function queryOf(target: string): URLSearchParams {
  const query = target.indexOf('?');
  return new URLSearchParams(query === -1 ? '' : target.slice(query + 1));
}

function finder<Found>({ exact, ending, prefix }: Table<Found>): (path: string) => Found | undefined {
  const deepest = Math.max(0, ...[...ending.keys()].map(slashes));
  const longestPrefix = below(prefix);
  return (path) => exact.get(path) ?? longestEnding(ending, deepest, path) ?? longestPrefix(path);
}

function below<Found>(beginnings: ReadonlyMap<string, Found>): (path: string) => Found | undefined {
  const longestFirst = [...beginnings].sort(([a], [b]) => b.length - a.length);
  return (path) => longestFirst.find(([start]) => path.startsWith(start))?.[1];
}

/** `/c`, then `/b/c`, as deep as the longest known ending goes: a path of a thousand slashes costs no more. */
function longestEnding<Found>(ending: Map<string, Found>, deepest: number, path: string): Found | undefined {
  let found: Found | undefined;
  let slash = path.length;
  for (let depth = 0; depth < deepest && slash > 0; depth++) {
    slash = path.lastIndexOf('/', slash - 1);
    if (slash === -1) break;
    found = ending.get(path.slice(slash)) ?? found;
  }
  return found;
}

/** Two endpoints with one name would hide each other in silence; better not to start at all. */
function enter<Found extends Route>(table: Map<string, Found> | undefined, route: Found): void {
  const { method, match, path } = route;
  if (!path.startsWith('/')) throw new Error(`The path of ${method} ${path} must begin with a slash.`);
  if (match !== 'prefix' && match !== 'rest' && plainPath(path) !== path)
    throw new Error(`${method} ${path} can never be reached.`);
  if (table?.has(path)) throw new Error(`${method} ${path} (${match}) is there twice.`);
  table?.set(path, route);
}

function emptyTable<Found>(): Table<Found> {
  return { exact: new Map(), ending: new Map(), prefix: new Map(), rest: new Map() };
}

function slashes(path: string): number {
  return path.split('/').length - 1;
}
