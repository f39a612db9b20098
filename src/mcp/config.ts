import { withoutQuote } from '../core/hide-secrets.ts';
import { isObject } from '../core/json.ts';
import { percentDecoded } from '../core/percent-decoded.ts';

/** An MCP server of the file. */
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
      /** The older transport with two endpoints only; otherwise it is tried when the newer one fails. */
      readonly sse: boolean;
      readonly oauth?: OAuthConfig;
      /** Named by a request, which has its own credentials. */
      readonly ofClient?: boolean;
    };

/** How this program is known to the authorization server; without it, it registers itself at the login. */
interface OAuthConfig {
  /** Without a person: this program logs in itself. */
  readonly grant?: 'client_credentials';
  readonly clientId?: string;
  readonly clientSecret?: string;
  readonly scope?: string;
  /** The only authorization server that may see the secret. */
  readonly issuer?: string;
}

/** What its messages must not repeat: headers, variables and what looks like a key in arguments and in the address. */
export function secretsOf(config: ServerConfig): readonly string[] {
  if (config.type === 'command') return [...Object.values(config.env), ...secretArguments(config.args)];
  const { username, password, searchParams } = new URL(config.url);
  const headers = Object.values(config.headers);
  const tokens = headers.map((value) => value.replace(/^\w+ +/, ''));
  const secret = config.oauth?.clientSecret;
  return [
    ...(secret === undefined ? [] : [secret]),
    ...headers,
    ...tokens,
    ...[username, password].map(percentDecoded),
    ...searchParams.values(),
  ];
}

const secretName = /^-.*(?:key|token|secret|password|auth)/i;

/** `--token=VALUE` and `--token VALUE`. */
function secretArguments(args: readonly string[]): readonly string[] {
  return args.flatMap((argument, index) => {
    const [, name = '', value] = /^([^=]*)=(.*)$/s.exec(argument) ?? ['', argument];
    if (!secretName.test(name)) return [];
    return [value ?? args[index + 1] ?? ''];
  });
}

export interface ReadOptions {
  readonly environment: Environment;
  /** Working folder of commands without `cwd`. */
  readonly folder: string;
  readonly resolve: (...paths: string[]) => string;
}

/** What is wrong with the file, and where. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
}

/** The servers of a file in the format of desktop apps (`mcpServers`) or editors (`servers`). Unknown fields are ignored. */
export function readServers(text: string, options: ReadOptions): readonly ServerConfig[] {
  let file: unknown;
  try {
    file = JSON.parse(text.replace(/^\ufeff/, ''));
  } catch (error) {
    throw new ConfigError(`it is not valid JSON: ${withoutQuote((error as Error).message)}`);
  }
  if (!isObject(file)) throw new ConfigError('it must hold an object');
  const servers = file.mcpServers ?? file.servers;
  if (!isObject(servers)) throw new ConfigError('it has no object "mcpServers"');
  return Object.entries(servers).flatMap(([name, entry]) => {
    const at = `mcpServers.${name}`;
    if (!isObject(entry)) throw new ConfigError(`${at} must be an object`);
    if (entry.disabled === true) return [];
    return [isPresent(entry.url) ? address(name, entry, at, options) : command(name, entry, at, options)];
  });
}

type Entry = Readonly<Record<string, unknown>>;

function address(name: string, entry: Entry, at: string, { environment }: ReadOptions): ServerConfig {
  const url = requiredText(entry.url, `${at}.url`, environment);
  const scheme = URL.canParse(url) ? new URL(url).protocol : '';
  if (scheme !== 'http:' && scheme !== 'https:') throw new ConfigError(`${at}.url must be an http or https address`);
  const headers = textsByName(entry.headers, `${at}.headers`, environment);
  try {
    new Headers(headers);
  } catch {
    // The message of the library repeats the value, which may be a token.
    throw new ConfigError(`${at}.headers cannot be sent: a name or a value has characters that headers cannot have`);
  }
  const oauth = oauthOf(entry.oauth, `${at}.oauth`, environment);
  return { type: 'address', name, url, headers, sse: entry.type === 'sse', ...(oauth && { oauth }) };
}

function oauthOf(value: unknown, at: string, environment: Environment): OAuthConfig | undefined {
  const { grant, clientId, clientSecret, scope, issuer } = textsByName(value, at, environment);
  if (grant !== undefined && grant !== 'client_credentials') {
    throw new ConfigError(`${at}.grant must be "client_credentials", or absent for a login in a browser`);
  }
  if (grant && (!clientId || !clientSecret)) throw new ConfigError(`${at} must have clientId and clientSecret`);
  const fields = { grant, clientId, clientSecret, scope, issuer };
  const entries = Object.entries(fields).filter(([, text]) => text !== undefined && text !== '');
  return entries.length > 0 ? (Object.fromEntries(entries) as OAuthConfig) : undefined;
}

function command(name: string, entry: Entry, at: string, options: ReadOptions): ServerConfig {
  if (!isPresent(entry.command)) throw new ConfigError(`${at} must have a command or a url`);
  const { environment, folder, resolve } = options;
  const directory = isPresent(entry.cwd) ? requiredText(entry.cwd, `${at}.cwd`, environment) : '';
  return {
    type: 'command',
    name,
    command: requiredText(entry.command, `${at}.command`, environment),
    args: textList(entry.args, `${at}.args`, environment),
    env: textsByName(entry.env, `${at}.env`, environment),
    folder: resolve(folder, directory),
  };
}

function textList(value: unknown, at: string, environment: Environment): readonly string[] {
  if (!isPresent(value)) return [];
  if (!Array.isArray(value)) throw new ConfigError(`${at} must be a list of texts`);
  return value.map((item, index) => plainText(item, `${at}[${index}]`, environment));
}

function textsByName(value: unknown, at: string, environment: Environment): Readonly<Record<string, string>> {
  if (!isPresent(value)) return {};
  if (!isObject(value)) throw new ConfigError(`${at} must be an object of texts`);
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [key, plainText(item, `${at}.${key}`, environment)]),
  );
}

function requiredText(value: unknown, at: string, environment: Environment): string {
  if (typeof value !== 'string' || value.trim() === '') throw new ConfigError(`${at} must be a text`);
  return withVariables(value, at, environment);
}

/** Numbers and booleans without quotes are accepted. */
function plainText(value: unknown, at: string, environment: Environment): string {
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  if (typeof value !== 'string') throw new ConfigError(`${at} must be a text`);
  return withVariables(value, at, environment);
}

function isPresent(value: unknown): boolean {
  return value !== undefined && value !== null;
}

type Environment = Readonly<Record<string, string | undefined>>;

/** Substitutes environment variables, so that a file need not hold secrets: `${NAME}`, `${env:NAME}`, `${NAME:-default}`. */
export function withVariables(text: string, at: string, environment: Environment): string {
  return text.replace(/\$\{([^}]*)\}/g, (whole, inside: string) => {
    const [, name = '', fallback] = /^(?:env:)?([A-Za-z_]\w*)(?::-([\s\S]*))?$/.exec(inside) ?? [];
    const value = environment[name] || fallback;
    if (value !== undefined) return value;
    throw new ConfigError(`${at} needs ${whole}, which is not set in the environment of this server`);
  });
}
