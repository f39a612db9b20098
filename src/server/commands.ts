import { join } from 'node:path';
import { defaultKeyFile } from '../config/lan.ts';
import { ownFolder, thisSystem } from '../core/data-folder.ts';
import { readProduct } from '../core/product.ts';
import { hubOf } from '../library/hub/access.ts';
import { knownModelFolders } from '../library/model-folders.ts';
import { streamOutput, Terminal } from '../observe/terminal.ts';
import type { Command, CommandContext } from './command.ts';
import type { ResultOutput } from './result-output.ts';
import type { ShutdownSignals } from './shutdown-signals.ts';

interface CommandInput {
  readonly args: readonly string[];
  readonly signals: ShutdownSignals;
  /** For commands whose output is their result. */
  readonly output: ResultOutput;
}

/** `parley NAME`: each resolves to the exit code. */
const commands = {
  models: async (input: CommandInput) => (await import('./models-command.ts')).modelsCommand(here(input)),
  list: async ({ args, ...input }: CommandInput) => commands.models({ ...input, args: ['list', ...args] }),
  presets: async (input: CommandInput) => (await import('./presets-command.ts')).presetsCommand(here(input)),
  rm: async (input: CommandInput) => (await import('./rm-command.ts')).rmCommand(here(input)),
  show: async (input: CommandInput) => {
    const { showCommand } = await import('./show-command.ts');
    const { ownMachine } = await import('./own-machine.ts');
    return showCommand({ ...here(input), ...downloading(input), machine: ownMachine() });
  },
  pull: async (input: CommandInput) => {
    const { pullCommand } = await import('./pull-command.ts');
    const { ownMachine } = await import('./own-machine.ts');
    return pullCommand({ ...here(input), ...downloading(input), machine: ownMachine(), environment: process.env });
  },
  search: async (input: CommandInput) => {
    const { searchCommand } = await import('./search-command.ts');
    const { recommendedHere: recommended } = await import('./own-machine.ts');
    return searchCommand({ ...here(input), ...downloading(input), recommended });
  },
  pack: async (input: CommandInput) => {
    const { packCommand } = await import('./pack-command.ts');
    return packCommand({ ...here(input), ...downloading(input), folder: ownFolder('packs') });
  },
  launch: async (input: CommandInput) => {
    const { launchCommand } = await import('./launch-command.ts');
    const { startServer } = await import('./child-server.ts');
    return launchCommand({
      ...here(input),
      system: thisSystem(),
      signals: process,
      backups: join(ownFolder('config'), 'agents'),
      startServer: (flags) => startServer(flags, { detached: true }),
    });
  },
  keys: async (input: CommandInput) => {
    const { keysCommand } = await import('./keys-command.ts');
    return keysCommand({ ...here(input), defaultFile: defaultKeyFile(), now: Date.now });
  },
  lan: async (input: CommandInput) => {
    const { lanCommand } = await import('./lan-command.ts');
    const { lanOf } = await import('./lan-server.ts');
    const own = here(input);
    return lanCommand({
      ...own,
      now: Date.now,
      keyFile: defaultKeyFile(),
      lan: lanOf({ host: '', ssl: null }, (line) => own.terminal.line(line)),
      invitationFile: join(ownFolder('state'), 'invitations.json'),
      color: process.stdout.isTTY && !process.env.NO_COLOR,
    });
  },
  mcp: async (input: CommandInput) => {
    const { mcpCommand } = await import('./mcp-command.ts');
    const { openBrowser } = await import('./open-browser.ts');
    return mcpCommand({
      ...here(input),
      product: readProduct(),
      environment: process.env,
      signal: stopSignal(input, 'The login was stopped.'),
      defaultFile: join(ownFolder('config'), 'mcp.json'),
      open: (url) => openBrowser(url, () => undefined),
    });
  },
  documents: async (input: CommandInput) => {
    const { documentsCommand } = await import('./documents-command.ts');
    return documentsCommand({ ...here(input), folder: ownFolder('documents') });
  },
  engines: async (input: CommandInput) => (await import('./engines-command.ts')).enginesCommand(here(input)),
  doctor: async (input: CommandInput) => (await import('./doctor.ts')).doctorCommand(report(input)),
  licenses: async (input: CommandInput) => (await import('./licenses.ts')).licensesCommand(report(input)),
};

export type CommandName = keyof typeof commands;

export function runCommand(name: CommandName, input: CommandInput): Promise<number> {
  return commands[name](input);
}

/** On this machine. */
function here({ args }: Pick<CommandInput, 'args'>): Command {
  const system = thisSystem();
  return {
    args,
    fetch,
    ask: asking(),
    now: () => performance.now(),
    terminal: new Terminal(streamOutput(process.stdout, { moving: true })),
    folder: ownFolder('models'),
    modelFolders: knownModelFolders(system),
    hub: hubOf(system),
  };
}

function report({ args, output }: CommandInput): CommandContext {
  return { args, terminal: { line: (text = '') => output.write(`${text}\n`) } };
}

/** Undefined without a terminal. */
function asking(): Command['ask'] {
  if (!process.stdin.isTTY || !process.stdout.isTTY) return undefined;
  return async (question) => {
    const { createInterface } = await import('node:readline/promises');
    const terminal = createInterface({ input: process.stdin, output: process.stdout });
    try {
      return await terminal.question(question);
    } finally {
      terminal.close();
    }
  };
}

/** A download that a signal stopped is continued by the next call. */
function downloading(input: CommandInput) {
  return { signal: stopSignal(input, 'it was stopped. What was downloaded is kept. Try again to continue.') };
}

function stopSignal({ signals }: CommandInput, reason: string): AbortSignal {
  const stop = new AbortController();
  signals.handle(() => stop.abort(new Error(reason)));
  return stop.signal;
}
