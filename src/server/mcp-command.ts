import { logIn } from '../mcp/login.ts';
import type { LoginFile } from '../mcp/logins.ts';
import type { Terminal } from '../observe/terminal.ts';
import { flag, readWords, showUsage, text } from './command.ts';
import { loginFile, namedServers } from './tool-servers.ts';

interface McpCommand {
  readonly words: readonly string[];
  /** Used without `--mcpfile`. */
  readonly defaultFile: string;
  readonly terminal: Pick<Terminal, 'line'>;
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

const options = { mcpfile: text, nobrowser: flag };

/** `parley mcp`. Resolves to the exit code. */
export async function mcpCommand(parts: McpCommand): Promise<number> {
  const { words, terminal, defaultFile, environment, product, open, signal, logins = loginFile() } = parts;
  const read = readWords(words, options);
  const [action = '', name, ...more] = read?.others ?? [];
  const isKnown = action === 'list' ? name === undefined : ['login', 'logout'].includes(action) && name !== undefined;
  if (!read || !isKnown || more.length > 0) return showUsage(terminal, usage, { words, options });
  const mcpfile = read.values.mcpfile ?? defaultFile;
  const fail = (sentence: string): number => {
    terminal.line(sentence);
    return 1;
  };
  try {
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
    if (!config) return fail(`${mcpfile} has no server ${name}. It has: ${servers.map((one) => one.name).join(', ')}.`);
    if (config.type !== 'address') return fail(`${name} is a program, which needs no login here.`);
    if (action === 'logout') {
      await logins.remove(config.url);
      terminal.line(`The tokens of ${name} are deleted.`);
      return 0;
    }
    if (config.oauth?.grant) return fail(`${name} logs in by itself, with the client credentials of ${mcpfile}.`);
    const show = ({ href }: URL): void => {
      terminal.line(`Open this address to log in to ${name}:\n${href}`);
      if (!read.values.nobrowser) open(href);
    };
    const result = await logIn({ config, logins, product, show, signal });
    terminal.line(result === 'done' ? `Logged in to ${name}.` : `${name} needs no login.`);
    return 0;
  } catch (error) {
    return fail(error instanceof Error ? error.message : String(error));
  }
}
