import { posix, win32 } from 'node:path';
import type { SystemFolders } from '../core/data-folder.ts';

/** A running server, as an agent uses it. */
export interface AgentServer {
  /** Without a path: `http://127.0.0.1:5001`. */
  readonly url: string;
  readonly model: string;
  readonly contextSize: number;
  /** Whether it searches the web (`--websearch`). */
  readonly webSearch: boolean;
  /** What the agent sends as its API key. A server without a password ignores it. */
  readonly key: string;
}

/** The key for a server without a password: some agents refuse to start without one. */
export const noKey = 'parley';

/** How an agent is started for one session. */
interface AgentStart {
  /** Undefined removes a variable. */
  readonly environment?: Readonly<Record<string, string | undefined>>;
  /** Put in front of the user's own arguments. */
  readonly arguments?: readonly string[];
}

/** A file of settings that an agent reads at every start. */
export interface AgentConfig {
  readonly path: (system: SystemFolders) => string;
  /** The content with the server added; `text` is undefined where there is no file. Throws if the file cannot be read. */
  readonly withServer: (text: string | undefined, server: AgentServer) => string;
}

/** All that is known about an agent. */
export interface Agent {
  readonly title: string;
  /** Name of the program on the path. */
  readonly program: string;
  readonly install: string;
  readonly api: 'Messages' | 'Responses' | 'Chat completions';
  /** The version that the tests of this project run; without one, the settings are those of its documentation. */
  readonly tested?: string;
  /** Tokens of instructions and tools in its first request; a smaller context cannot work. */
  readonly promptTokens: number;
  /** `folder`: a private folder that is deleted when the agent ends; `files` are written there first. */
  readonly start: (server: AgentServer, folder: string) => AgentStart;
  readonly files?: (server: AgentServer) => Readonly<Record<string, string>>;
  readonly config?: AgentConfig;
}

const maxOutputTokens = 16_384;

/** The longest reply that an agent asks for. */
export function outputTokens(contextSize: number): number {
  return Math.min(maxOutputTokens, Math.floor(contextSize / 8));
}

/** Usage at which an agent should summarise: the reply and the request for the summary still fit. */
export function compactTokens(contextSize: number): number {
  return Math.floor(contextSize * 0.8);
}

/** A path below the home folder in the form of the system. */
export function below({ home, platform }: Pick<SystemFolders, 'home' | 'platform'>, ...names: string[]): string {
  return (platform === 'win32' ? win32 : posix).join(home, ...names);
}

/** `XDG_CONFIG_HOME`, which these programs use on every system. */
export function xdgConfig(system: SystemFolders, ...names: string[]): string {
  const { XDG_CONFIG_HOME: folder } = system.environment;
  return folder ? below({ ...system, home: folder }, ...names) : below(system, '.config', ...names);
}
