import { parseArgs } from 'node:util';
import { suggest } from '../config/suggest.ts';
import { attempt } from '../core/attempt.ts';
import { isPublicAddress } from '../http/address.ts';
import type { Hub } from '../library/hub/access.ts';
import type { HubDeps } from '../library/hub/request.ts';
import type { ModelFolder } from '../library/model-folders.ts';
import type { Terminal } from '../observe/terminal.ts';

export type Lines = Pick<Terminal, 'line'>;

/** What every command gets. */
export interface CommandContext {
  readonly args: readonly string[];
  readonly terminal: Lines;
}

/** What `parley NAME` is run with; each command takes what it needs. */
export interface Command extends CommandContext {
  readonly terminal: Terminal;
  /** Where the command puts what it downloads, unless the arguments name another folder. */
  readonly folder: string;
  /** Folders of this and other programs. */
  readonly modelFolders: readonly ModelFolder[];
  readonly hub: Hub;
  readonly fetch: typeof fetch;
  readonly signal?: AbortSignal;
  /** Milliseconds of a clock that never goes back. */
  readonly now: () => number;
  /** Asks the user; undefined without a terminal. */
  readonly ask: ((question: string) => Promise<string>) | undefined;
}

/** Ends a command; the message is a sentence for people. */
export class CommandError extends Error {
  constructor(
    message: string,
    readonly exitCode = 2,
  ) {
    super(message);
  }
}

type Options = NonNullable<NonNullable<Parameters<typeof parseArgs>[0]>['options']>;
type Read<Known extends Options> = NonNullable<ReturnType<typeof readArgs<Known>>>;

interface CommandForm<Known extends Options> {
  readonly usage: string;
  readonly options: Known;
  /** With it, every error that is thrown is a sentence for people, as a `CommandError` is. */
  readonly failureCode?: number;
}

/** A command, which resolves to the exit code. `run` returns undefined for arguments that it does not understand: the usage is shown. */
export function command<const Known extends Options, Context extends CommandContext>(
  form: CommandForm<Known>,
  run: (read: Read<Known>, context: Context) => number | undefined | Promise<number | undefined>,
) {
  return async (context: Context): Promise<number> => {
    const read = readArgs(context.args, form.options);
    try {
      return (read && (await run(read, context))) ?? showUsage(context, form);
    } catch (error) {
      const code = error instanceof CommandError ? error.exitCode : form.failureCode;
      if (code === undefined) throw error;
      return print(context.terminal, [error instanceof Error ? error.message : String(error)], code);
    }
  };
}

export function hubDeps({ hub, fetch, signal }: Pick<Command, 'hub' | 'fetch' | 'signal'>): HubDeps {
  return { hub, fetch, allowsAddress: isPublicAddress, ...(signal && { signal }) };
}

/** Prints the lines. Returns the exit code. */
export function print(terminal: Lines, lines: readonly string[], code = 0): number {
  for (const line of lines) terminal.line(line);
  return code;
}

/** Prints the value as JSON, for scripts. Returns the exit code. */
export const printJson = (terminal: Lines, value: unknown): number =>
  print(terminal, [JSON.stringify(value, undefined, 2)]);

/** For arguments that are not understood, or ask for help. Returns the exit code. */
export function showUsage(
  { args, terminal }: CommandContext,
  { usage, options }: Pick<CommandForm<Options>, 'usage' | 'options'>,
): number {
  const isHelp = asksHelp(args);
  const problem = isHelp ? undefined : optionProblem(args, options);
  terminal.line(problem === undefined ? usage : `${problem}\n\n${usage}`);
  return isHelp ? 0 : 2;
}

/** Of arguments before `--`, which ends the options. */
function asksHelp(args: readonly string[]): boolean {
  const end = args.indexOf('--');
  return args.slice(0, end < 0 ? args.length : end).some((arg) => arg === '--help' || arg === '-h');
}

/** A sentence about the first option that is unknown, or has the wrong number of values. */
function optionProblem(args: readonly string[], options: Options): string | undefined {
  const { tokens } = parseArgs({ args: [...args], options, strict: false, tokens: true });
  for (const token of tokens) {
    if (token.kind !== 'option') continue;
    const { name, rawName, value, inlineValue } = token;
    const known = Object.hasOwn(options, name) ? options[name] : undefined;
    if (!known) {
      const meant = suggest(name, Object.keys(options));
      return `${rawName} is not an option here.${meant === undefined ? '' : ` Did you mean --${meant}?`}`;
    }
    if (known.type === 'boolean' && value !== undefined) return `${rawName} takes no value.`;
    // An option after it is not its value.
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

/** The options among the arguments, and all others; undefined if an option is unknown or its value is missing. */
function readArgs<const Known extends Options>(args: readonly string[], options: Known) {
  return attempt(() => parseArgs({ args: [...args], options, allowPositionals: true }), undefined);
}
