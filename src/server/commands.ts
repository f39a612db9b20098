import { join } from 'node:path';
import { defaultKeyFile } from '../config/lan.ts';
import { ownFolder, thisSystem } from '../core/data-folder.ts';
import { readProduct } from '../core/product.ts';
import { hubOf } from '../library/hub/access.ts';
import { knownPlaces } from '../library/places.ts';
import { streamOutput, Terminal } from '../observe/terminal.ts';
import type { ReachedOutput } from './reached-output.ts';
import type { Stops } from './stops.ts';

interface CommandParts {
  readonly words: readonly string[];
  readonly stops: Stops;
  /** For commands whose output is their result. */
  readonly output: ReachedOutput;
}

/** `parley NAME`: each resolves to the exit code. */
const commands = {
  models: async ({ words }: CommandParts) => {
    const { modelsCommand } = await import('./models-command.ts');
    return modelsCommand({ words, places: knownPlaces(thisSystem()), terminal: ownTerminal() });
  },
  list: async ({ words }: CommandParts) => {
    const { modelsCommand } = await import('./models-command.ts');
    return modelsCommand({ words: ['list', ...words], places: knownPlaces(thisSystem()), terminal: ownTerminal() });
  },
  presets: async ({ words }: CommandParts) => {
    const { presetsCommand } = await import('./presets-command.ts');
    return presetsCommand({
      ...{ words, folder: ownFolder('models'), terminal: ownTerminal() },
      places: knownPlaces(thisSystem()),
    });
  },
  rm: async ({ words }: CommandParts) => {
    const { rmCommand } = await import('./rm-command.ts');
    const places = knownPlaces(thisSystem());
    return rmCommand({ words, places, folder: ownFolder('models'), terminal: ownTerminal(), ask: asking() });
  },
  show: async ({ words, stops }: CommandParts) => {
    const { showCommand } = await import('./show-command.ts');
    const { ownMachine } = await import('./own-machine.ts');
    const system = thisSystem();
    const machine = ownMachine();
    return showCommand({ words, ...downloading(stops), machine, hub: hubOf(system), places: knownPlaces(system) });
  },
  pull: async ({ words, stops }: CommandParts) => {
    const { pullCommand } = await import('./pull-command.ts');
    const { ownMachine } = await import('./own-machine.ts');
    const own = { hub: hubOf(thisSystem()), folder: ownFolder('models'), environment: process.env };
    const places = knownPlaces(thisSystem());
    return pullCommand({ words, ...downloading(stops), ...own, places, machine: ownMachine() });
  },
  search: async ({ words, stops }: CommandParts) => {
    const { searchCommand } = await import('./search-command.ts');
    const { recommendedHere: recommended } = await import('./recommended.ts');
    return searchCommand({ words, ...downloading(stops), hub: hubOf(thisSystem()), recommended });
  },
  pack: async ({ words, stops }: CommandParts) => {
    const { packCommand } = await import('./pack-command.ts');
    return packCommand({ words, ...downloading(stops), folder: ownFolder('packs') });
  },
  launch: async ({ words }: CommandParts) => {
    const { launchCommand } = await import('./launch-command.ts');
    const { startServer } = await import('./child-server.ts');
    const system = thisSystem();
    return launchCommand({
      ...{ words, system, terminal: ownTerminal(), places: knownPlaces(system), ask: asking(), signals: process },
      backups: join(ownFolder('config'), 'agents'),
      startServer: (flags) => startServer(flags, { detached: true }),
    });
  },
  keys: async ({ words }: CommandParts) => {
    const { keysCommand } = await import('./keys-command.ts');
    return keysCommand({ words, defaultFile: defaultKeyFile(), terminal: ownTerminal(), now: Date.now });
  },
  lan: async ({ words }: CommandParts) => {
    const { lanCommand } = await import('./lan-command.ts');
    const { lanOf } = await import('./lan-server.ts');
    const terminal = ownTerminal();
    return lanCommand({
      ...{ words, terminal, fetch, now: Date.now, keyFile: defaultKeyFile() },
      lan: lanOf({ host: '', ssl: null }, (line) => terminal.line(line)),
      invitationFile: join(ownFolder('state'), 'invitations.json'),
      color: process.stdout.isTTY && !process.env.NO_COLOR,
    });
  },
  mcp: async ({ words, stops }: CommandParts) => {
    const { mcpCommand } = await import('./mcp-command.ts');
    const { openBrowser } = await import('./open-browser.ts');
    const stop = new AbortController();
    stops.handle(() => stop.abort(new Error('The login was stopped.')));
    return mcpCommand({
      ...{ words, terminal: ownTerminal(), product: readProduct(), environment: process.env, signal: stop.signal },
      defaultFile: join(ownFolder('config'), 'mcp.json'),
      open: (url) => openBrowser(url, () => undefined),
    });
  },
  documents: async ({ words }: CommandParts) => {
    const { documentsCommand } = await import('./documents-command.ts');
    const { documentFolder } = await import('./document-services.ts');
    const at = words.indexOf('--documentsdir');
    const folder = documentFolder({ documentsdir: at === -1 ? '' : (words[at + 1] ?? '') });
    return documentsCommand({ words, folder, terminal: ownTerminal(), fetch });
  },
  engines: async ({ words }: CommandParts) => {
    const { enginesCommand } = await import('./engines-command.ts');
    return enginesCommand(words, ownTerminal());
  },
  doctor: async ({ words, output }: CommandParts) => {
    const { doctorCommand } = await import('./report-commands.ts');
    return doctorCommand(words, output);
  },
  licenses: async ({ words, output }: CommandParts) => {
    const { licensesCommand } = await import('./report-commands.ts');
    return licensesCommand(words, output);
  },
};

export type CommandName = keyof typeof commands;

export function runCommand(name: CommandName, parts: CommandParts): Promise<number> {
  return commands[name](parts);
}

function ownTerminal(): Terminal {
  return new Terminal(streamOutput(process.stdout, { moving: true }));
}

/** Undefined where nobody sits at a terminal. */
function asking() {
  if (!process.stdin.isTTY || !process.stdout.isTTY) return undefined;
  return async (question: string): Promise<string> => {
    const { createInterface } = await import('node:readline/promises');
    const terminal = createInterface({ input: process.stdin, output: process.stdout });
    try {
      return await terminal.question(question);
    } finally {
      terminal.close();
    }
  };
}

function downloading(stops: Stops) {
  const stop = new AbortController();
  stops.handle(() => stop.abort(new Error('it was stopped. What was downloaded is kept. Try again to continue.')));
  return { terminal: ownTerminal(), fetch, signal: stop.signal, now: () => performance.now() };
}
