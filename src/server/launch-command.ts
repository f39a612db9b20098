import { type ChildProcess, spawn as spawnProcess } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { constants, tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Agent, type AgentServer, noKey } from '../agents/agent.ts';
import { agents } from '../agents/catalogue.ts';
import { ConfigBackups } from '../agents/config-backup.ts';
import { findProgram, type Program } from '../agents/find-program.ts';
import { type RunningServer, runningServer } from '../agents/running-server.ts';
import { defaultSettings } from '../config/flags.ts';
import { isRemoteModel } from '../config/paths.ts';
import type { SystemFolders } from '../core/data-folder.ts';
import { byteSize, tableLines } from '../core/readable.ts';
import { type ServerChild, ServerProcess } from '../launcher/server-process.ts';
import { findModels } from '../library/find-models.ts';
import { type ModelFacts, modelFacts } from '../library/model-facts.ts';
import { type Command, print } from './command.ts';
import { type LaunchOptions, readLaunchOptions } from './launch-options.ts';
import { findFile } from './models-command.ts';

export interface LaunchCommand extends Pick<Command, 'args' | 'terminal' | 'modelFolders' | 'ask'> {
  readonly system: SystemFolders;
  /** Where backups of config files are kept. */
  readonly backups: string;
  readonly startServer: (args: readonly string[]) => ServerChild;
  readonly signals: Pick<NodeJS.Process, 'on' | 'off'>;
  readonly spawn?: typeof spawnProcess;
  readonly fetch?: typeof fetch;
}

/** What agents need; a model may be trained for less, or memory may be short. */
const targetContext = 65_536;
/** The reply to a request that names no limit: a whole file must fit. */
const replyTokens = 8192;

export const launchUsage = `parley launch                           the agents, and which of them are installed
parley launch AGENT [-- ARGUMENTS]      starts an agent on the Parley that runs, or on one that ends with the agent
parley launch AGENT --model NAME        with this model: a name of parley list, a file, or hf:OWNER/NAME
parley launch AGENT --config            writes the address of a running Parley into the agent's own settings, with a backup
parley launch AGENT --restore           puts those settings back
--port PORT and --password KEY are those of the running Parley. Other flags before -- are for the server that is started
(parley --help). What follows -- is for the agent.`;

/** `parley launch`: resolves to the exit code, which is that of the agent. */
export async function launchCommand(command: LaunchCommand): Promise<number> {
  const { terminal, args } = command;
  try {
    const options = readLaunchOptions(args, defaultSettings.port);
    if (options.action === 'help') return print(terminal, launchUsage.split('\n'));
    if (options.agent === undefined && options.serverFlags.length > 0)
      throw new Error(`Name the agent first: parley launch AGENT ${options.serverFlags.join(' ')}`);
    if (options.agent === undefined) return print(terminal, agentLines(command));
    const agent = Object.hasOwn(agents, options.agent) ? agents[options.agent] : undefined;
    if (!agent)
      throw new Error(`${options.agent} is not an agent that can be launched: ${Object.keys(agents).join(', ')}.`);
    if (options.action === 'restore') return await restore(command, options.agent);
    if (options.action === 'config') return await writeConfig(command, options, agent);
    return await start(command, options, agent);
  } catch (error) {
    return print(terminal, [(error as Error).message], 2);
  }
}

function agentLines({ system }: LaunchCommand): readonly string[] {
  const rows = Object.entries(agents).map(([name, agent]) => {
    const program = findProgram(agent.program, system);
    return [name, agent.title, program ? 'installed' : 'not installed', program ? '' : agent.install];
  });
  const table = tableLines([['NAME', 'AGENT', 'HERE', 'INSTALL'], ...rows]);
  return [...table, 'parley launch NAME starts one; --help says more.'];
}

async function restore({ backups, terminal }: LaunchCommand, name: string): Promise<number> {
  const restored = await new ConfigBackups(backups).restore(name);
  if (!restored) throw new Error(`There is no backup for ${name}: its settings were not changed by parley launch.`);
  terminal.line(`${restored.path} is as it was.`);
  if (restored.changed) terminal.line(`It had been changed since; that is in ${restored.changed}`);
  return 0;
}

async function writeConfig(command: LaunchCommand, options: LaunchOptions, agent: Agent): Promise<number> {
  const { terminal, system, backups } = command;
  const { config } = agent;
  if (!config)
    throw new Error(`The settings of ${agent.title} are not changed by parley launch; start it without --config.`);
  const running = await runningHere(command, options);
  if (!running) throw new Error(`No Parley runs on port ${options.port}: start one first, so that its model is known.`);
  const server = agentServer(command, options, running);
  checkContext(agent, server);
  const path = config.path(system);
  const backup = await new ConfigBackups(backups)
    .change(options.agent ?? '', path, (text) => config.withServer(text, server))
    .catch((error: Error) => {
      throw new Error(`${path} was not changed: ${error.message}.`);
    });
  terminal.line(`${path} names ${server.url} now. The backup is ${backup}`);
  terminal.line(`parley launch ${options.agent} --restore puts it back.`);
  return 0;
}

async function start(command: LaunchCommand, options: LaunchOptions, agent: Agent): Promise<number> {
  const { terminal, system } = command;
  const program = findProgram(agent.program, system);
  if (!program) throw new Error(`${agent.title} is not installed. Install it: ${agent.install}`);
  const running = await runningHere(command, options);
  const onServer = (server: AgentServer) => runAgent(command, options, { agent, program, server });
  if (running && (options.model === undefined || running.models.includes(options.model))) {
    if (options.serverFlags.length > 0)
      throw new Error(`A Parley runs on port ${options.port} already, so ${options.serverFlags[0]} has no effect.`);
    terminal.line(`Using the Parley at ${running.url}.`);
    return onServer(agentServer(command, options, running));
  }
  if (running && options.hasPort)
    throw new Error(`The Parley on port ${options.port} serves ${running.models.join(', ')}, not ${options.model}.`);
  const needsModel = options.model !== undefined || !options.serverFlags.some((flag) => /^--remote\b/.test(flag));
  const model = needsModel ? await chosenModel(command, options.model) : undefined;
  return duringServer(command, serverArgs(options, model), async (url) => {
    const own = await runningServer(url, keyOf(command, options), command.fetch);
    if (!own) throw new Error(`The server at ${url} does not answer.`);
    return onServer(agentServer(command, { ...options, model: undefined }, own));
  });
}

function runningHere(command: LaunchCommand, options: LaunchOptions): Promise<RunningServer | undefined> {
  return runningServer(`http://127.0.0.1:${options.port}`, keyOf(command, options), command.fetch);
}

/** The variables are those of the flag `--password`, which a server that is started here reads, too. */
function keyOf({ system: { environment } }: LaunchCommand, { password }: LaunchOptions): string | undefined {
  return password ?? (environment.PARLEY_PASSWORD || environment.KCPP_PASSWORD || undefined);
}

function agentServer(command: LaunchCommand, options: LaunchOptions, running: RunningServer): AgentServer {
  const { url, models, contextSize, webSearch } = running;
  const [first = 'local'] = models;
  // Names are ignored where there is one model, and Claude Code takes names of this form for larger models.
  const fallback = models.length < 2 && /^claude/i.test(first) ? 'local' : first;
  return { url, contextSize, webSearch, model: options.model ?? fallback, key: keyOf(command, options) ?? noKey };
}

/** Asks only if there are several models and a user who can answer. */
async function chosenModel(command: LaunchCommand, name: string | undefined): Promise<string> {
  const { modelFolders, terminal, ask } = command;
  if (name !== undefined) {
    if (isRemoteModel(name)) return name;
    const file = await findFile(name, modelFolders).catch((error: Error) => {
      throw new Error(`${error.message}\nName another model with --model.`);
    });
    return file.path;
  }
  const facts = await Promise.all((await findModels(modelFolders)).map(modelFacts));
  const models = facts.filter((one) => one.type === 'model');
  const [only] = models;
  if (!only)
    throw new Error(
      'There is no model on this machine yet. parley search WORDS finds one; parley launch AGENT --model hf:OWNER/NAME downloads it.',
    );
  if (models.length === 1) return only.path;
  if (!ask) throw new Error(`Name a model with --model: ${models.map((one) => one.name).join(', ')}.`);
  for (const [index, model] of models.entries()) terminal.line(modelLine(index + 1, model));
  const answer = (await ask(`Which model? [1-${models.length}] `)).trim();
  const chosen = models[Number(answer) - 1] ?? models.find((model) => model.name === answer);
  if (!chosen) throw new Error('No model was chosen.');
  return chosen.path;
}

function modelLine(number: number, { name, bytes, context }: Extract<ModelFacts, { type: 'model' }>): string {
  return `${String(number).padStart(3)}  ${name}  ${byteSize(bytes)}${context === undefined ? '' : `, context ${context}`}`;
}

/** A free port, unless one was named: the server belongs to the agent. Flags of the person win. */
function serverArgs({ port, hasPort, password, serverFlags }: LaunchOptions, model?: string): readonly string[] {
  return [
    ...(model === undefined ? ['--nomodel'] : ['--model', model]),
    ...['--port', String(hasPort ? port : 0), '--skiplauncher'],
    ...['--targetcontext', String(targetContext), '--defaultgenamt', String(replyTokens)],
    ...(password === undefined ? [] : [`--password=${password}`]),
    ...serverFlags,
  ];
}

const stopSignals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
/** A server that has not stopped by then is killed. */
const stopMs = 10_000;

/** Starts a server, calls `use` when it is ready, and stops the server whatever happens. */
async function duringServer(
  { terminal, startServer, signals }: LaunchCommand,
  args: readonly string[],
  use: (url: string) => Promise<number>,
): Promise<number> {
  let isReady = false;
  const serverProcess = new ServerProcess(startServer, (line) => isReady || terminal.line(line));
  const reached = <Type extends 'running' | 'ended'>(type: Type) =>
    new Promise<Extract<ServerProcess['state'], { type: Type }>>((resolve) =>
      serverProcess.watch(() => serverProcess.state.type === type && resolve(serverProcess.state as never)),
    );
  const [ready, ended] = [reached('running'), reached('ended')];
  let signal: (typeof stopSignals)[number] | undefined;
  const stop = (name: (typeof stopSignals)[number]): void => {
    signal ??= name;
    serverProcess.stop();
  };
  for (const name of stopSignals) signals.on(name, stop);
  try {
    serverProcess.start(args);
    const state = await Promise.race([ready, ended]);
    if (state.type === 'ended') return signal === undefined ? 3 : signalCode(signal);
    isReady = true;
    // Until the agent ends, signals are its business.
    for (const name of stopSignals) signals.off(name, stop);
    return await use(state.address.replace('//localhost:', '//127.0.0.1:'));
  } finally {
    const { state } = serverProcess;
    if (isReady && state.type === 'ended') {
      terminal.line(`The server has ended with code ${state.code}. Its last lines:`);
      print(terminal, serverProcess.lines.slice(-5));
    }
    serverProcess.stop();
    const timer = setTimeout(() => serverProcess.stop(), stopMs);
    if (serverProcess.busy) await ended;
    clearTimeout(timer);
    for (const name of stopSignals) signals.off(name, stop);
  }
}

const signalCode = (name: NodeJS.Signals): number => 128 + constants.signals[name];

interface AgentRun {
  readonly agent: Agent;
  readonly program: Program;
  readonly server: AgentServer;
}

/** Runs the agent in this terminal. Resolves to its exit code. */
async function runAgent(command: LaunchCommand, options: LaunchOptions, run: AgentRun): Promise<number> {
  const { terminal, signals, system, spawn = spawnProcess } = command;
  const { agent, program, server } = run;
  checkContext(agent, server);
  const files = Object.entries(agent.files?.(server) ?? {});
  const folder = files.length > 0 ? await mkdtemp(join(tmpdir(), 'parley-agent-')) : '';
  try {
    for (const [name, text] of files) await writeFile(join(folder, name), text, { mode: 0o600 });
    const start = agent.start(server, folder);
    terminal.line(`Starting ${agent.title} with ${server.model}, context ${server.contextSize}.`);
    const child = spawn(program.path, [...program.arguments, ...(start.arguments ?? []), ...options.agentArguments], {
      stdio: 'inherit',
      env: { ...system.environment, ...withoutProxy(system.environment), ...start.environment },
    });
    return await exitCode(child, signals);
  } finally {
    if (folder !== '') await rm(folder, { recursive: true, force: true });
  }
}

/** A proxy cannot reach this machine's own address. */
function withoutProxy({ NO_PROXY, no_proxy }: SystemFolders['environment']): Record<string, string> {
  const value = [NO_PROXY ?? no_proxy, '127.0.0.1'].filter(Boolean).join(',');
  return { NO_PROXY: value, no_proxy: value };
}

/** Ctrl+C reaches the agent from the terminal, and means what the agent makes of it; other signals are passed on. */
async function exitCode(child: ChildProcess, signals: LaunchCommand['signals']): Promise<number> {
  const ignore = (): void => undefined;
  const pass = (name: NodeJS.Signals): void => void child.kill(name);
  const passed = ['SIGTERM', 'SIGHUP'] as const;
  signals.on('SIGINT', ignore);
  for (const name of passed) signals.on(name, pass);
  try {
    return await new Promise<number>((resolve, reject) => {
      child.on('error', (error) => reject(new Error(`${child.spawnfile} could not be started: ${error.message}`)));
      child.on('exit', (code, signal) => resolve(code ?? (signal ? signalCode(signal) : 1)));
    });
  } finally {
    signals.off('SIGINT', ignore);
    for (const name of passed) signals.off(name, pass);
  }
}

function checkContext({ title, promptTokens }: Agent, { model, contextSize }: AgentServer): void {
  if (contextSize >= promptTokens * 1.5) return;
  const needed = `${title} sends about ${promptTokens} tokens before the first question`;
  throw new Error(
    `The context of ${model} is ${contextSize} tokens, and ${needed}. Choose another model with --model, or a larger --contextsize.`,
  );
}
