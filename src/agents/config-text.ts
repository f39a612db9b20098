import { isObject, tryParseJson } from '../core/json.ts';
import type { AgentConfig, AgentServer } from './agent.ts';

type Json = Readonly<Record<string, unknown>>;

/** A config of one JSON object: objects are merged, all other values replaced. */
export function jsonConfig(path: AgentConfig['path'], entries: (server: AgentServer) => Json): AgentConfig {
  return {
    path,
    withServer: (text, server) => {
      const own = text === undefined || text.trim() === '' ? {} : tryParseJson(text);
      if (!isObject(own)) throw new Error('it is not a JSON object (comments are not supported here)');
      return `${JSON.stringify(merged(own, entries(server)), undefined, 2)}\n`;
    },
  };
}

function merged(own: Json, added: Json): Json {
  const entries = Object.entries(added).map(([key, value]) => {
    const before = own[key];
    return [key, isObject(before) && isObject(value) ? merged(before as Json, value as Json) : value];
  });
  return { ...own, ...Object.fromEntries(entries) };
}

/** A value of TOML, as config files and `-c key=value` of Codex take it. */
export function toml(value: string | number | boolean): string {
  return JSON.stringify(value);
}

/**
 * A TOML text with these keys at the top and this table at the end. Keys of the same name at the top and a table of the same name are
 * replaced; a file in which one of those keys has a value of several lines is refused.
 */
export function withTomlEntries(
  text: string,
  top: Readonly<Record<string, string | number | boolean>>,
  table: { readonly name: string; readonly entries: Readonly<Record<string, string | number | boolean>> },
): string {
  const lines = text === '' ? [] : text.replace(/\n$/, '').split('\n');
  const firstTable = lines.findIndex((line) => /^\s*\[/.test(line));
  const head = firstTable < 0 ? lines : lines.slice(0, firstTable);
  const rest = firstTable < 0 ? [] : lines.slice(firstTable);
  const replaced = (line: string) => keyOf(line) in top;
  const severalLines = head.find((line) => replaced(line) && /=\s*("""|'''|[[{][^\]}]*$)/.test(line));
  if (severalLines !== undefined) throw new Error(`its key ${keyOf(severalLines)} has a value of several lines`);
  const written = (entries: typeof top) => Object.entries(entries).map(([key, value]) => `${key} = ${toml(value)}`);
  return `${[
    ...written(top),
    ...head.filter((line) => !replaced(line)),
    ...withoutTable(rest, table.name),
    `[${table.name}]`,
    ...written(table.entries),
  ].join('\n')}\n`;
}

function keyOf(line: string): string {
  return /^\s*"?([\w-]+)"?\s*=/.exec(line)?.[1] ?? '';
}

function withoutTable(lines: readonly string[], name: string): string[] {
  let inside = false;
  return lines.filter((line) => {
    if (/^\s*\[/.test(line)) inside = line.trim().replace(/\s*#.*$/, '') === `[${name}]`;
    return !inside;
  });
}
