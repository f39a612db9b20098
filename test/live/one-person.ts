import { expect } from 'vitest';
import { documentedPaths, type EndpointShape } from '../../src/protocols/endpoint.ts';

/** A reply, whole. */
export interface Answered {
  readonly status: number;
  readonly text: string;
  readonly headers: Headers;
  // biome-ignore lint/suspicious/noExplicitAny: each API has its own.
  readonly json: any;
}

type Body = object | FormData | undefined;

/** One person with a key, or with other headers. */
export function personOf(base: string, sent: Readonly<Record<string, string>>) {
  const open = (method: string, path: string, body?: Body, more: Readonly<Record<string, string>> = {}) => {
    const isForm = body instanceof FormData;
    const headers = { ...sent, ...(body && !isForm && { 'content-type': 'application/json' }), ...more };
    return fetch(`${base}${path}`, {
      method,
      headers,
      ...(body && { body: isForm ? body : JSON.stringify(body) }),
    });
  };
  const ask = async (...args: Parameters<typeof open>): Promise<Answered> => {
    const reply = await open(...args);
    const text = await reply.text();
    const isJson = (reply.headers.get('content-type') ?? '').includes('json') && text !== '';
    return { status: reply.status, text, headers: reply.headers, json: isJson ? JSON.parse(text) : undefined };
  };
  /** Throws unless it succeeds. */
  const done = async (...args: Parameters<typeof open>): Promise<Answered> => {
    const answer = await ask(...args);
    expect(answer.status, `${args[0]} ${args[1]}: ${answer.text}`).toBeLessThan(300);
    return answer;
  };
  return { open, ask, done };
}

export type Person = ReturnType<typeof personOf>;

/** The rows that a test has tried, by `METHOD path` as they are documented. */
export function triedRows(endpoints: readonly EndpointShape[]) {
  const rows = endpoints
    .filter(({ aliasOf }) => aliasOf === undefined)
    .flatMap((row) => documentedPaths(row).map(({ path }) => ({ row, name: `${row.method} ${path}` })));
  const tried = new Set<string>();
  const pattern = (name: string) =>
    new RegExp(`^${name.replace(/[.*+?^$()|[\]\\]/g, '\\$&').replace(/\{[^}]*\}/g, '[^/?]+')}/?(\\?.*)?$`);
  const patterns = rows.map(({ name }) => ({ name, pattern: pattern(name) }));
  return {
    names: (wanted: (row: EndpointShape) => boolean) => rows.filter(({ row }) => wanted(row)).map(({ name }) => name),
    /** Those with parameters match what no other one is. */
    note: (method: string, path: string): void => {
      const sent = `${method} ${path}`;
      const found = patterns.filter((one) => one.pattern.test(sent));
      const exact = found.filter(({ name }) => !name.includes('{'));
      for (const { name } of exact.length > 0 ? exact : found) tried.add(name);
    },
    tried,
  };
}
