import type { ServedTool } from '../core/tool-servers.ts';

export interface Offering {
  readonly server: string;
  readonly tools: readonly ServedTool[];
}

export interface NamedTool {
  readonly server: string;
  /** As its server knows it. */
  readonly ownName: string;
  /** As everybody else sees it, under a name that no other one has. */
  readonly tool: ServedTool;
}

/**
 * The tools of all servers, in the order of the file. A name belongs to the first server that has it; the same name of a later
 * one gets the server's name in front, and a number where even that is taken. The same lists always give the same names.
 */
export function nameTools(offerings: readonly Offering[]): ReadonlyMap<string, NamedTool> {
  const named = new Map<string, NamedTool>();
  const plain = new Set(offerings.flatMap(({ tools }) => tools.map(({ name }) => name)));
  for (const { server, tools } of offerings) {
    const own = new Set<string>();
    for (const tool of tools) {
      // A server that lists a name twice answers to it once.
      if (own.has(tool.name)) continue;
      own.add(tool.name);
      const name = named.has(tool.name) ? freeName(server, tool.name, named, plain) : tool.name;
      named.set(name, { server, ownName: tool.name, tool: name === tool.name ? tool : { ...tool, name } });
    }
  }
  return named;
}

/** No longer than chat APIs allow, and never the plain name of a tool that comes later. */
function freeName(
  server: string,
  name: string,
  named: ReadonlyMap<string, NamedTool>,
  plain: ReadonlySet<string>,
): string {
  const base = `${server.replace(/[^a-zA-Z0-9_-]+/g, '_').replace(/_$/, '')}_${name}`;
  for (let number = 1; ; number += 1) {
    const ending = number === 1 ? '' : `_${number}`;
    const candidate = base.slice(0, longestName - ending.length) + ending;
    if (!named.has(candidate) && !plain.has(candidate)) return candidate;
  }
}

const longestName = 64;
