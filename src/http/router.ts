import type { Endpoint } from './call.ts';

/**
 * Paths match by their ending, because apps put the server behind prefixes (`/koboldcpp/api/v1/generate`). Precedence: exact,
 * longest ending, the folder of a file, longest prefix, then `rest`, unless the path exists for other methods.
 */
export type Route = Pick<Endpoint, 'method' | 'match' | 'path' | 'header'>;
type Method = Route['method'];

export interface Router<Entry> {
  /** Takes a plain path (`plainPath`). Without headers, the route that needs none. */
  find(method: string, path: string, headers?: Readonly<Record<string, unknown>>): Entry | undefined;
  /** The methods of this path; those of `rest` do not count. */
  methods(path: string): readonly Method[];
}

type Table<Entry> = Readonly<Record<Route['match'], Map<string, Entry>>>;

export const methods = ['GET', 'POST', 'PUT', 'DELETE'] as const satisfies readonly Method[];

export function router<Entry extends Route>(routes: readonly Entry[]): Router<Entry> {
  const names = [...new Set(routes.flatMap(({ header }) => header ?? []))];
  const plain = pathRouter(routes.filter(({ header }) => header === undefined));
  if (names.length === 0) return plain;
  const special = names.map((name) => [name, pathRouter(routes.filter(({ header }) => header === name))] as const);
  return {
    find: (method, path, headers = {}) => {
      const sent = special.find(([name, own]) => headers[name] !== undefined && own.find(method, path) !== undefined);
      return sent ? sent[1].find(method, path) : plain.find(method, path);
    },
    methods: plain.methods,
  };
}

function pathRouter<Entry extends Route>(routes: readonly Entry[]): Router<Entry> {
  const empty = (): Table<Entry> => ({
    exact: new Map(),
    ending: new Map(),
    folder: new Map(),
    prefix: new Map(),
    rest: new Map(),
  });
  const tables = new Map<string, Table<Entry>>(methods.map((method) => [method, empty()]));
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

/** The path without query and trailing slashes; `/lcpp/x` is an alias of `/x`. */
export function plainPath(target: string): string {
  const path = sentPath(target);
  let end = path.length;
  while (end > 0 && path[end - 1] === '/') end--;
  const bare = path.slice(0, end);
  return (bare.startsWith('/lcpp/') ? bare.slice('/lcpp'.length) : bare) || '/';
}

/** The path as sent, without the host of an absolute target (`GET http://name/path`). */
export function sentPath(target: string): string {
  const query = target.indexOf('?');
  const path = query === -1 ? target : target.slice(0, query);
  return path.replace(/^https?:\/\/[^/]*/i, '');
}

export function queryOf(target: string): URLSearchParams {
  const query = target.indexOf('?');
  return new URLSearchParams(query === -1 ? '' : target.slice(query + 1));
}

function finder<Entry>({ exact, ending, folder, prefix }: Table<Entry>): (path: string) => Entry | undefined {
  const longestEnding = longest(ending);
  const longestFolder = longest(folder);
  const longestPrefix = below(prefix);
  const folderOf = (path: string) => longestFolder(path.slice(0, path.lastIndexOf('/')));
  return (path) => exact.get(path) ?? longestEnding(path) ?? folderOf(path) ?? longestPrefix(path);
}

function below<Entry>(beginnings: ReadonlyMap<string, Entry>): (path: string) => Entry | undefined {
  const longestFirst = [...beginnings].sort(([a], [b]) => b.length - a.length);
  return (path) => longestFirst.find(([start]) => path.startsWith(start))?.[1];
}

/** The longest ending of a path that is known: tries `/c`, then `/b/c`, up to the depth of the longest one. */
function longest<Entry>(endings: ReadonlyMap<string, Entry>): (path: string) => Entry | undefined {
  const deepest = Math.max(0, ...[...endings.keys()].map((path) => path.split('/').length - 1));
  return (path) => {
    let match: Entry | undefined;
    let slash = path.length;
    for (let depth = 0; depth < deepest && slash > 0; depth++) {
      slash = path.lastIndexOf('/', slash - 1);
      if (slash === -1) break;
      match = endings.get(path.slice(slash)) ?? match;
    }
    return match;
  };
}

/** Throws for an endpoint that could never be reached, which prevents the start. */
function enter<Entry extends Route>(table: Map<string, Entry> | undefined, route: Entry): void {
  const { method, match, path } = route;
  if (!path.startsWith('/')) throw new Error(`The path of ${method} ${path} must begin with a slash.`);
  if (match !== 'prefix' && match !== 'rest' && plainPath(path) !== path)
    throw new Error(`${method} ${path} can never be reached.`);
  if (table?.has(path)) throw new Error(`${method} ${path} (${match}) is there twice.`);
  table?.set(path, route);
}
