import { resolve } from 'node:path';
import { defaultScopes, keyScopes } from '../core/people.ts';
import { isKeyName, isScope, KeyExists, KeyFile, type KeyRules, type StoredKey } from '../keys/key-file.ts';
import { type CommandContext, CommandError, command, flag, text } from './command.ts';

interface KeysCommand extends CommandContext {
  /** Used without `--keyfile`. */
  readonly defaultFile: string;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

const usage = `parley keys list             the keys, their scopes and limits
parley keys add NAME         make a key; it is shown once
parley keys revoke NAME      delete one

  --scopes LIST              what it may do, with commas between: ${keyScopes.join(', ')}; all but admin without
  --rate N/min               requests per minute for text, pictures, sound or vectors; no limit without
  --tokens N/day             tokens per day, read and written, such as 500k/day or 2M/day; no limit without
  --weight N                 share of the queue: 2 gets twice the turns of 1
  --shared                   use the common library of saved stories and chats, instead of one of its own
  --expires DATE             last day, such as 2027-01-31
  --keyfile FILE             the file; start the server with the same flag`;

const options = {
  scopes: text,
  rate: text,
  tokens: text,
  weight: text,
  shared: flag,
  expires: text,
  keyfile: text,
};

/** `parley keys` */
export const keysCommand = command(
  { usage, options },
  async ({ values, positionals }, { defaultFile, terminal, now }: KeysCommand) => {
    const [action = 'list', name, ...rest] = positionals;
    if (rest.length > 0) return undefined;
    const path = values.keyfile === undefined ? defaultFile : resolve(values.keyfile);
    const file = new KeyFile({ path, warn: (sentence) => terminal.line(sentence), now: () => new Date(now()) });
    if (action === 'list') {
      const keys = await file.keys();
      if (keys.length === 0) terminal.line(`There are no keys in ${path}. Make one with parley keys add NAME.`);
      for (const key of keys) terminal.line(keyLine(key, now()));
      return 0;
    }
    if (name === undefined || !['add', 'revoke'].includes(action)) return undefined;
    if (action === 'revoke') {
      if (!(await file.revoke(name))) throw new CommandError(`There is no key ${name}.`);
      terminal.line(`The key of ${name} is revoked.`);
      return 0;
    }
    const rules = rulesOf(name, values, now());
    const key = await file.add(rules, now()).catch((error: unknown) => {
      if (!(error instanceof KeyExists)) throw error;
      throw new CommandError('There is a key of this name already. Revoke it first, or use another name.');
    });
    terminal.line(key);
    terminal.line(`This is the key of ${name}. It is shown only now: ${path} has a hash of it.`);
    terminal.line(`Servers take it that are started with --keyfile ${path}, also those that run already.`);
    return 0;
  },
);

type Values = Partial<Record<Exclude<keyof typeof options, 'shared'>, string>> & { readonly shared?: boolean };

function rulesOf(name: string, values: Values, now: number): KeyRules {
  if (!isKeyName(name))
    throw new CommandError('A name has up to 64 letters, digits and . _ @ -, and begins with a letter or digit.');
  const scopes = values.scopes?.split(',').map((scope) => scope.trim());
  const unknown = scopes?.find((scope) => !isScope(scope));
  if (unknown !== undefined) throw new CommandError(`There is no scope ${unknown}. There are ${keyScopes.join(', ')}.`);
  const rate = values.rate === undefined ? undefined : Number(/^(\d{1,6})(\/min)?$/.exec(values.rate)?.[1]);
  if (rate !== undefined && !(rate > 0))
    throw new CommandError('--rate must be a number of requests per minute, such as 30/min.');
  const tokensPerDay = values.tokens === undefined ? undefined : tokensIn(values.tokens);
  const weight = Number(values.weight ?? 1);
  if (!(weight >= 0.01 && weight <= 100)) throw new CommandError('--weight must be a number from 0.01 to 100.');
  const expires = values.expires === undefined ? undefined : lastMoment(values.expires, now);
  return {
    name,
    scopes: scopes?.filter(isScope) ?? defaultScopes,
    weight,
    shared: values.shared === true,
    ...(rate === undefined ? {} : { rate }),
    ...(tokensPerDay === undefined ? {} : { tokensPerDay }),
    ...(expires === undefined ? {} : { expires }),
  };
}

const unitSizes: Readonly<Record<string, number>> = { '': 1, k: 1e3, m: 1e6, g: 1e9 };

/** Tokens per day. */
function tokensIn(text: string): number {
  const [, number, unit = ''] = /^(\d{1,12}(?:\.\d+)?)([kmg]?)(?:\/day)?$/i.exec(text) ?? [];
  const tokens = Math.floor(Number(number) * (unitSizes[unit.toLowerCase()] ?? 1));
  if (!(tokens > 0)) throw new CommandError('--tokens must be a number of tokens per day, such as 500k/day or 2M/day.');
  return tokens;
}

/** The end of a day, in the time zone of this machine. */
function lastMoment(text: string, now: number): number {
  const [year = 0, month = 0, day = 0] = text.split('-').map(Number);
  // As it was written: a month 13 would be the first of the next year.
  const isDate = new Date(year, month - 1, day).toLocaleDateString('sv') === text;
  const end = new Date(year, month - 1, day + 1).getTime();
  if (!isDate || end <= now) throw new CommandError('--expires must be a date to come, such as 2027-01-31.');
  return end;
}

function keyLine({ name, scopes, rate, tokensPerDay, weight, shared, expires }: StoredKey, now: number): string {
  const limits = [
    scopes.join(',') || 'no scope',
    rate === undefined ? 'no rate' : `${rate}/min`,
    ...(tokensPerDay === undefined ? [] : [`${tokensPerDay} tokens/day`]),
    ...(weight === 1 ? [] : [`weight ${weight}`]),
    ...(shared === false ? [] : ['shared']),
    ...(expires === undefined
      ? []
      : [`${expires <= now ? 'EXPIRED' : 'expires'} ${new Date(expires - 1).toLocaleDateString('sv')}`]),
  ];
  return `${name.padEnd(20)} ${limits.join('  ')}`;
}
