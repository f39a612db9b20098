import { mkdir, writeFile } from 'node:fs/promises';
import { hostname, networkInterfaces } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import type { Settings } from '../config/flags.ts';
import { ownFolder } from '../core/data-folder.ts';
import { versionKey } from '../core/file-version.ts';
import { defaultScopes, type People } from '../core/people.ts';
import type { HttpServer } from '../http/server.ts';
import { addressLines, invitationLines, nextCodeLine } from '../lan/console.ts';
import { Lan, lanUrl } from '../lan/lan.ts';
import { ownCommand } from '../launcher/first-page.ts';
import type { Terminal } from '../observe/terminal.ts';

type Warn = (sentence: string) => void;

/** The certificates of `--lan`, made or renewed before the server listens, and its key file. */
export async function openLan(settings: Pick<Settings, 'host' | 'ssl' | 'keyfile'>, warn: Warn): Promise<Lan> {
  await createKeyFile(resolve(settings.keyfile));
  const lan = lanOf(settings, warn);
  await lan.renew();
  return lan;
}

/** This machine in its network, with the certificates of this account. */
export function lanOf({ host, ssl }: Pick<Settings, 'host' | 'ssl'>, warn: Warn): Lan {
  return new Lan({
    host,
    warn,
    ssl: Boolean(ssl),
    machineName: hostname(),
    interfaces: networkInterfaces,
    folder: join(ownFolder('state'), 'lan'),
    now: Date.now,
  });
}

/** Without any key: only the owner of this machine has access before the first invitation. */
async function createKeyFile(path: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  const content = `${JSON.stringify({ [versionKey]: 1, keys: [] }, undefined, 2)}\n`;
  await writeFile(path, content, { flag: 'wx', mode: 0o600 }).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EEXIST') throw error;
  });
}

export interface Announced {
  readonly lan: Lan;
  readonly port: number;
  readonly server: Pick<HttpServer, 'setCertificate'>;
  readonly people: (() => Promise<People>) | undefined;
  readonly terminal: Terminal;
  readonly color: boolean;
}

/** Network interfaces come and go: a laptop joins another network. */
const lookMs = 10_000;
/** What an invitation of the console allows. */
export const consoleInvitation = { rules: { scopes: defaultScopes }, lifetimeMs: 15 * 60_000, by: 'console' } as const;

/** Prints the addresses, and an invitation on a terminal; follows changes of addresses from then on. */
export async function announceLan({ lan, port, server, people, terminal, color }: Announced): Promise<void> {
  lan.port = port;
  const warn = (sentence: string): void => terminal.line(sentence, { level: 'warn' });
  const names = lan.isPublic ? await announceNames(lan, port, terminal) : undefined;
  for (const line of addressLines(lan.facts())) terminal.line(line);
  const command = ownCommand(process.env);
  if (terminal.interactive && people && lan.isPublic) {
    try {
      const invitation = await (await people()).invite({ name: 'Phone', suggested: true, ...consoleInvitation });
      for (const line of invitationLines(lan.facts(), invitation, color)) terminal.line(line);
    } catch (error) {
      warn(`No invitation could be made: ${(error as Error).message} Make one with ${command} lan --new.`);
    }
  } else terminal.line(nextCodeLine(command));
  let known = lan.addresses().join();
  const look = async (): Promise<void> => {
    try {
      const isNew = await lan.renew();
      if (isNew && lan.pair) server.setCertificate(lan.pair);
    } catch (error) {
      warn(`The certificate of --lan is not renewed: ${(error as Error).message}.`);
    }
    const now = lan.addresses().join();
    if (now !== known) {
      known = now;
      names?.refresh();
      for (const line of addressLines(lan.facts())) terminal.line(line);
    }
    setTimeout(look, lookMs).unref();
  };
  setTimeout(look, lookMs).unref();
}

/** They are found a moment later. */
async function announceNames(lan: Lan, port: number, terminal: Terminal) {
  const { openNames } = await import('../lan/names.ts');
  const printed = new Set<string>();
  const changed = (names: readonly string[]): void => {
    lan.names = names;
    const more = names.filter((name) => !printed.has(name));
    if (more.length > 0) terminal.line(`Also by name: ${more.map((name) => lanUrl('http', name, port)).join('  ')}`);
    for (const name of more) printed.add(name);
  };
  const warn = (sentence: string): void => terminal.line(sentence, { level: 'warn' });
  return openNames({ machineName: hostname(), interfaces: networkInterfaces, changed, warn });
}
