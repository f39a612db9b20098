import type { CallOptions, ServedCall, ServedResult, ServedTool } from '../../core/tool-servers.ts';
import type { ServerConfig } from '../config.ts';
import type { OpenSession, Session, SessionEvents } from '../connection.ts';

export function tool(name: string, own: Readonly<Record<string, unknown>> = {}): ServedTool {
  return { name, inputSchema: { type: 'object' }, ...own };
}

export function commandConfig(name: string, env: Readonly<Record<string, string>> = {}): ServerConfig {
  return { type: 'command', name, command: name, args: [], env, folder: '/' };
}

export interface FakeSession {
  readonly events: SessionEvents;
  /** The calls that have come in. */
  readonly calls: { readonly call: ServedCall; readonly options: CallOptions }[];
  tools: readonly ServedTool[];
  /** What comes of each call; nothing at all unless a test says so. */
  answer: (call: ServedCall, options: CallOptions) => Promise<ServedResult>;
  /** What comes of each other request, such as `resources/list`. */
  respond: (method: string, params: Readonly<Record<string, unknown>>) => Promise<ServedResult>;
  check: () => Promise<void>;
  closed: boolean;
  checks: number;
}

export interface FakeServers {
  readonly open: OpenSession;
  /** All sessions of a server so far. */
  of(name: string): readonly FakeSession[];
  /** What an attempt to connect comes to; connected unless a test says otherwise. */
  onOpen: (config: ServerConfig, signal: AbortSignal) => Promise<void>;
  readonly tools: Map<string, readonly ServedTool[]>;
  /** Of new sessions. */
  respond: FakeSession['respond'];
}

/** Tool servers that are only played: everything happens when a test says so. */
export function fakeServers(): FakeServers {
  const sessions: { readonly name: string; readonly session: FakeSession }[] = [];
  const servers: FakeServers = {
    tools: new Map(),
    onOpen: async () => undefined,
    respond: async () => ({}),
    of: (name) => sessions.filter((one) => one.name === name).map(({ session }) => session),
    open: async (config, events, signal) => {
      await servers.onOpen(config, signal);
      const fake: FakeSession = {
        events,
        calls: [],
        tools: servers.tools.get(config.name) ?? [tool('echo')],
        answer: () => new Promise(() => {}),
        respond: servers.respond,
        check: async () => undefined,
        closed: false,
        checks: 0,
      };
      sessions.push({ name: config.name, session: fake });
      const session: Session = {
        tools: async () => fake.tools,
        call: (call, options) => {
          fake.calls.push({ call, options });
          return fake.answer(call, options);
        },
        offers: () => true,
        request: (method, params) => fake.respond(method, params),
        check: () => {
          fake.checks += 1;
          return fake.check();
        },
        close: async () => {
          fake.closed = true;
        },
      };
      return session;
    },
  };
  return servers;
}
