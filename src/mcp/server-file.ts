import { isObject } from '../core/json.ts';
import { Mutex } from '../core/synchronization.ts';
import type { ToolServerEditor } from '../core/tool-servers.ts';
import { type ReadOptions, readServers, type ServerConfig } from './config.ts';
import type { FileAccess } from './logins.ts';

interface ServerFileDeps extends FileAccess {
  readonly path: string;
  readonly options: ReadOptions;
  readonly add: (config: ServerConfig) => Promise<void>;
  readonly remove: (name: string) => Promise<void>;
}

type Entries = Record<string, unknown>;

/**
 * Changes the file of MCP servers and the connections together. Only addresses can be added or removed: to start any program
 * on this machine, a person has to edit the file.
 */
export function serverFileEditor(deps: ServerFileDeps): ToolServerEditor {
  const { path, read, write, exclusively, options, add, remove } = deps;
  const mutex = new Mutex();
  /** One change after another, each on the present content of the file. */
  const edit = (change: (servers: Entries) => void): Promise<void> =>
    mutex.run(() =>
      exclusively(async () => {
        const file: unknown = JSON.parse((await read())?.replace(/^\ufeff/, '') ?? '{}');
        if (!isObject(file)) throw new Error(`${path} must hold an object.`);
        const key = isObject(file.servers) && !isObject(file.mcpServers) ? 'servers' : 'mcpServers';
        const servers: Entries = isObject(file[key]) ? { ...file[key] } : {};
        change(servers);
        await write(`${JSON.stringify({ ...file, [key]: servers }, null, 2)}\n`);
      }),
    );
  const isProgram = (entry: unknown): boolean =>
    isObject(entry) && (entry.url === undefined || entry.url === null) && typeof entry.command === 'string';
  const inFile = (name: string): Error => new Error(`${name} is a program. Change it in ${path}.`);
  return {
    file: path,
    async add(name, entry) {
      // They could send any secret of this machine to any address.
      if (JSON.stringify(entry).includes('${')) throw new Error(`Environment variables can only be used in ${path}.`);
      const [config] = readServers(JSON.stringify({ mcpServers: { [name]: entry } }), options);
      if (config?.type !== 'address') throw new Error('Only servers with an address can be added here.');
      await edit((servers) => {
        if (isProgram(servers[name])) throw inFile(name);
        servers[name] = entry;
      });
      await add(config);
    },
    async remove(name) {
      await edit((servers) => {
        if (!Object.hasOwn(servers, name)) throw new Error(`There is no server ${name}.`);
        if (isProgram(servers[name])) throw inFile(name);
        delete servers[name];
      });
      await remove(name);
    },
  };
}
