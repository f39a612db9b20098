import { checkVersion, versionKey } from '../core/file-version.ts';
import { isObject } from '../core/json.ts';
import { Mutex } from '../core/synchronization.ts';

type Fields = Readonly<Record<string, unknown>>;

/** What an authorization server gave for one MCP server. */
interface Login {
  /** The registration of this program. */
  readonly client?: Fields | undefined;
  readonly tokens?: Fields | undefined;
}

export interface FileAccess {
  /** Undefined if there is no file yet. */
  readonly read: () => Promise<string | undefined>;
  /** Replaces the file at once, or not at all; of logins, only this account may read it. */
  readonly write: (text: string) => Promise<void>;
  /** Runs a change while no other process changes the file. */
  readonly exclusively: (change: () => Promise<void>) => Promise<void>;
}

/** The logins of MCP servers, by the address of the server and the issuer of its tokens. */
export class LoginFile {
  readonly #mutex = new Mutex();

  constructor(private readonly access: FileAccess) {}

  async get(url: string, issuer: string): Promise<Login> {
    return (await this.#servers())[url]?.[issuer] ?? {};
  }

  /** The tokens that were saved last; undefined without a login to this server. */
  async latestTokens(url: string): Promise<Fields | undefined> {
    return Object.values((await this.#servers())[url] ?? {}).findLast(({ tokens }) => tokens !== undefined)?.tokens;
  }

  set(url: string, issuer: string, login: Login): Promise<void> {
    return this.#change((servers) => {
      const { [issuer]: before, ...others } = servers[url] ?? {};
      return { ...servers, [url]: { ...others, [issuer]: { ...before, ...login } } };
    });
  }

  remove(url: string): Promise<void> {
    return this.#change(({ [url]: _, ...others }) => others);
  }

  #change(change: (servers: Servers) => Servers): Promise<void> {
    const { exclusively, write } = this.access;
    return this.#mutex.run(() =>
      exclusively(async () => {
        const servers = change(await this.#servers());
        await write(`${JSON.stringify({ [versionKey]: 1, servers }, null, 2)}\n`);
      }),
    );
  }

  async #servers(): Promise<Servers> {
    const file: unknown = JSON.parse((await this.access.read()) ?? '{}');
    if (!isObject(file)) return {};
    checkVersion(file);
    return isObject(file.servers) ? (file.servers as Servers) : {};
  }
}

type Servers = Readonly<Record<string, Readonly<Record<string, Login>>>>;
