import { parseArgs } from 'node:util';
import { suggest } from '../config/suggest.ts';
import { attempt } from '../core/attempt.ts';
import { isPublicAddress } from '../http/address.ts';
import type { Hub } from '../library/hub/access.ts';
import type { HubParts } from '../library/hub/request.ts';
import type { Place } from '../library/places.ts';
import type { Terminal } from '../observe/terminal.ts';

/** What `parley NAME` is run with; each command takes what it needs. */
export interface Command {
  readonly words: readonly string[];
  readonly terminal: Terminal;
  /** Where the command puts what it downloads, unless the words name another folder. */
  readonly folder: string;
  /** Folders of this and other programs. */
  readonly places: readonly Place[];
  readonly hub: Hub;
  readonly fetch: typeof fetch;
  readonly signal?: AbortSignal;
  /** Milliseconds of a clock that never goes back. */
  readonly now: () => number;
}

export function hubParts({ hub, fetch, signal }: Pick<Command, 'hub' | 'fetch' | 'signal'>): HubParts {
  return { hub, fetch, allowsAddress: isPublicAddress, ...(signal && { signal }) };
}

type Options = NonNullable<NonNullable<Parameters<typeof parseArgs>[0]>['options']>;

/** What a command was run with, and the options that it knows. */
interface Asked {
  readonly words: readonly string[];
  readonly options?: Options;
}

/** For words that are not understood, or ask for help. Returns the exit code. */
export function showUsage(terminal: Pick<Terminal, 'line'>, usage: string, { words, options = {} }: Asked): number {
  const isHelp = asksHelp(words);
  const problem = isHelp ? undefined : optionProblem(words, options);
  terminal.line(problem === undefined ? usage : `${problem}\n\n${usage}`);
  return isHelp ? 0 : 2;
}

/** Of words before `--`, which ends the options. */
function asksHelp(words: readonly string[]): boolean {
  const end = words.indexOf('--');
  return words.slice(0, end < 0 ? words.length : end).some((word) => word === '--help' || word === '-h');
}

/** A sentence about the first option that is unknown, or has the wrong number of values. */
function optionProblem(words: readonly string[], options: Options): string | undefined {
  const { tokens } = parseArgs({ args: [...words], options, strict: false, tokens: true });
  for (const token of tokens) {
    if (token.kind !== 'option') continue;
    const { name, rawName, value, inlineValue } = token;
    const known = Object.hasOwn(options, name) ? options[name] : undefined;
    if (!known) {
      const meant = suggest(name, Object.keys(options));
      return `${rawName} is not an option here.${meant === undefined ? '' : ` Did you mean --${meant}?`}`;
    }
    if (known.type === 'boolean' && value !== undefined) return `${rawName} takes no value.`;
    // The next option is no value.
    const isMissing = value === undefined || (!inlineValue && value.length > 1 && value.startsWith('-'));
    if (known.type === 'string' && isMissing) return `${rawName} needs a value.`;
  }
  return undefined;
}

export const text = { type: 'string' } as const;
export const flag = { type: 'boolean' } as const;

/** That of `--port`, by default 5001; undefined for what is none. */
export function readPort(value = '5001'): number | undefined {
  const port = Number(value);
  return Number.isInteger(port) && port > 0 && port < 65_536 ? port : undefined;
}

/** The options among the words, and all others; undefined if an option is unknown or its value is missing. */
export function readWords<const Known extends Options>(words: readonly string[], options: Known) {
  const read = attempt(() => parseArgs({ args: [...words], options, allowPositionals: true }), undefined);
  return read && { values: read.values, others: read.positionals };
}
