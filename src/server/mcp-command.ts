import { logIn } from '../mcp/login.ts';
import type { LoginFile } from '../mcp/logins.ts';
import { type CommandContext, command, flag, text } from './command.ts';
import { loginFile, namedServers } from './tool-servers.ts';

interface McpCommand extends CommandContext {
  /** Used without `--mcpfile`. */
  readonly defaultFile: string;
  readonly product: { readonly name: string; readonly version: string };
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly open: (url: string) => void;
  readonly signal: AbortSignal;
  readonly logins?: LoginFile;
}

const usage = `parley mcp list              the MCP servers of the file, and where someone is logged in
parley mcp login NAME        log in to a server that needs it, in a browser
parley mcp logout NAME       forget its tokens

  --mcpfile FILE             the file with the servers; mcp.json in the config folder without
  --nobrowser                only show the address of the login page`;

/** `parley mcp` */
export const mcpCommand = command(
  { usage, options: { mcpfile: text, nobrowser: flag }, failureCode: 1 },
  async ({ values, positionals: [action = '', name, ...rest] }, context: McpCommand) => {
    const { terminal, defaultFile, environment, product, open, signal, logins = loginFile() } = context;
    const isKnown = action === 'list' ? name === undefined : ['login', 'logout'].includes(action) && name !== undefined;
    if (!isKnown || rest.length > 0) return undefined;
    const { mcpfile = defaultFile, nobrowser } = values;
    const servers = namedServers({ settings: { mcpfile, admin: false }, environment });
    if (action === 'list') {
      for (const config of servers) {
        const tokens = config.type === 'address' && (await logins.latestTokens(config.url));
        const target = config.type === 'address' ? config.url : config.command;
        terminal.line(`${config.name}  ${target}${tokens ? '  (logged in)' : ''}`);
      }
      if (servers.length === 0) terminal.line(`${mcpfile} has no servers.`);
      return 0;
    }
    const config = servers.find((one) => one.name === name);
    if (!config)
      throw new Error(`${mcpfile} has no server ${name}. It has: ${servers.map((one) => one.name).join(', ')}.`);
    if (config.type !== 'address') throw new Error(`${name} is a program, which needs no login here.`);
    if (action === 'logout') {
      await logins.remove(config.url);
      terminal.line(`The tokens of ${name} are deleted.`);
      return 0;
    }
    if (config.oauth?.grant) throw new Error(`${name} logs in by itself, with the client credentials of ${mcpfile}.`);
    const show = ({ href }: URL): void => {
      terminal.line(`Open this address to log in to ${name}:\n${href}`);
      if (!nobrowser) open(href);
    };
    const result = await logIn({ config, logins, product, show, signal });
    terminal.line(result === 'done' ? `Logged in to ${name}.` : `${name} needs no login.`);
    return 0;
  },
);
