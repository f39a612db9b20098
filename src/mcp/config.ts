/** A tool server as the file names it. */
export type ServerConfig =
  | {
      readonly type: 'command';
      readonly name: string;
      readonly command: string;
      readonly args: readonly string[];
      readonly env: Readonly<Record<string, string>>;
      readonly folder: string;
    }
  | {
      readonly type: 'address';
      readonly name: string;
      readonly url: string;
      readonly headers: Readonly<Record<string, string>>;
      /** The older way with two endpoints, where the file asks for it; otherwise it is tried only when the newer one fails. */
      readonly sse: boolean;
    };

export interface ReadOptions {
  readonly environment: Environment;
  /** Where commands run that name no folder of their own. */
  readonly folder: string;
  readonly resolve: (...paths: string[]) => string;
}

/** Told to people: what is wrong with the file, and where. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
}

/**
 * The servers of a file in the form that desktop apps use (`mcpServers`, or `servers` as editors call it), in its order.
 * Fields that are not known belong to some other app and are left alone; what is known has to be right.
 */
export function readServers(text: string, options: ReadOptions): readonly ServerConfig[] {
  const file = parsed(text);
  const servers = file.mcpServers ?? file.servers;
  if (!isObject(servers)) throw new ConfigError('it has no object "mcpServers"');
  return Object.entries(servers).flatMap(([name, entry]) => {
    const at = `mcpServers.${name}`;
    if (!isObject(entry)) throw new ConfigError(`${at} must be an object`);
    if (entry.disabled === true) return [];
    return [isPresent(entry.url) ? address(name, entry, at, options) : command(name, entry, at, options)];
  });
}

function parsed(text: string): Record<string, unknown> {
  let value: unknown;
  try {
    value = JSON.parse(text.replace(/^\ufeff/, ''));
  } catch (error) {
    throw new ConfigError(`it is not valid JSON: ${(error as Error).message}`);
  }
  if (!isObject(value)) throw new ConfigError('it must hold an object');
  return value;
}

function address(name: string, entry: Entry, at: string, options: ReadOptions): ServerConfig {
  const url = textAt(entry.url, `${at}.url`, options);
  const scheme = URL.canParse(url) ? new URL(url).protocol : '';
  if (scheme !== 'http:' && scheme !== 'https:') throw new ConfigError(`${at}.url must be an http or https address`);
  const headers = textsByName(entry.headers, `${at}.headers`, options);
  try {
    new Headers(headers);
  } catch (error) {
    throw new ConfigError(`${at}.headers cannot be sent: ${(error as Error).message}`);
  }
  return { type: 'address', name, url, headers, sse: entry.type === 'sse' };
}

function command(name: string, entry: Entry, at: string, options: ReadOptions): ServerConfig {
  if (!isPresent(entry.command)) throw new ConfigError(`${at} must have a command or a url`);
  const folder = isPresent(entry.cwd) ? textAt(entry.cwd, `${at}.cwd`, options) : '';
  return {
    type: 'command',
    name,
    command: textAt(entry.command, `${at}.command`, options),
    args: textList(entry.args, `${at}.args`, options),
    env: textsByName(entry.env, `${at}.env`, options),
    folder: options.resolve(options.folder, folder),
  };
}

type Entry = Readonly<Record<string, unknown>>;

function textAt(value: unknown, at: string, options: ReadOptions): string {
  if (typeof value !== 'string' || value.trim() === '') throw new ConfigError(`${at} must be a text`);
  return filled(value, at, options);
}

function textList(value: unknown, at: string, options: ReadOptions): readonly string[] {
  if (!isPresent(value)) return [];
  if (!Array.isArray(value)) throw new ConfigError(`${at} must be a list of texts`);
  return value.map((item, index) => plainText(item, `${at}[${index}]`, options));
}

function textsByName(value: unknown, at: string, options: ReadOptions): Readonly<Record<string, string>> {
  if (!isPresent(value)) return {};
  if (!isObject(value)) throw new ConfigError(`${at} must be an object of texts`);
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [key, plainText(item, `${at}.${key}`, options)]),
  );
}

/** Numbers and switches are written without quotes often enough. */
function plainText(value: unknown, at: string, options: ReadOptions): string {
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  if (typeof value !== 'string') throw new ConfigError(`${at} must be a text`);
  return filled(value, at, options);
}

function filled(text: string, at: string, { environment }: ReadOptions): string {
  try {
    return withVariables(text, environment);
  } catch (error) {
    if (!(error instanceof MissingVariable)) throw error;
    throw new ConfigError(`${at} needs ${error.message}, which is not set in the environment of this server`);
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isPresent(value: unknown): boolean {
  return value !== undefined && value !== null;
}

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Puts variables of the server's own environment in their places, so that a file need not hold secrets: `${NAME}`,
 * `${env:NAME}`, and `${NAME:-text}` for one that may be missing. Throws the name of what is missing otherwise.
 */
export function withVariables(text: string, environment: Environment): string {
  return text.replace(/\$\{([^}]*)\}/g, (whole, inside: string) => {
    const [, name = '', otherwise] = /^(?:env:)?([A-Za-z_]\w*)(?::-([\s\S]*))?$/.exec(inside) ?? [];
    const value = environment[name] || otherwise;
    if (value === undefined) throw new MissingVariable(whole);
    return value;
  });
}

export class MissingVariable extends Error {
  override readonly name = 'MissingVariable';
}
