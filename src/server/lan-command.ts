import { resolve } from 'node:path';
import { isObject } from '../core/json.ts';
import { type LanFacts, lanPath } from '../core/lan.ts';
import { previewPath } from '../core/people.ts';
import { freeName } from '../keys/free-name.ts';
import { Invitations } from '../keys/invitations.ts';
import { isKeyName, KeyFile } from '../keys/key-file.ts';
import { addressLines, invitationLines, nextCodeLine } from '../lan/console.ts';
import { type Lan, lanUrl } from '../lan/lan.ts';
import { type CommandContext, CommandError, command, flag, readPort, text } from './command.ts';
import { consoleInvitation } from './lan-server.ts';

interface LanCommand extends CommandContext {
  readonly lan: Pick<Lan, 'addresses' | 'certificate' | 'renew' | 'facts'>;
  readonly fetch: typeof fetch;
  /** Used without `--keyfile`. */
  readonly keyFile: string;
  /** Of the state folder. */
  readonly invitationFile: string;
  readonly now: () => number;
  /** Whether colors can be shown. */
  readonly color: boolean;
}

const usage = `Usage: parley lan [--new] [--name NAME] [--renew] [--port PORT] [--keyfile FILE]
  Shows where phones and computers in your network find the running server (parley --lan), and its certificate.
  --new                      a QR code that lets one device in, once, within 15 minutes
  --name NAME                what its key is called; by default Phone, Phone 2 and so on
  --renew                    another authority and certificate, for instance if others may have read their keys;
                             devices have to trust it again
  --port PORT                the port of the server; by default 5001
  --keyfile FILE             that of the server, if it was started with one`;

const options = { new: flag, name: text, renew: flag, port: text, keyfile: text };

/** `parley lan`: addresses and QR codes of the server that runs on this machine. */
export const lanCommand = command({ usage, options }, async ({ values, positionals }, context: LanCommand) => {
  const { terminal, lan, now, color } = context;
  const port = readPort(values.port);
  if (positionals.length > 0 || port === undefined) return undefined;
  if (values.name !== undefined && !isKeyName(values.name)) return undefined;
  if (values.renew) {
    await lan.renew(true);
    terminal.line('There is another authority now, which devices have to trust anew: parley lan says how.');
    terminal.line(`Its fingerprint (SHA-256): ${lan.facts().fingerprint}`);
    terminal.line('A running server uses it within ten seconds.');
    return 0;
  }
  const { address, facts } = await serverOn(port, lan.addresses(), context.fetch);
  for (const line of addressLines(facts)) terminal.line(line);
  if (!values.new && values.name === undefined) {
    const certificate = facts.fingerprint && (await lan.certificate());
    if (certificate) terminal.line(certificateLine(certificate));
    terminal.line(nextCodeLine('parley'));
    return 0;
  }
  const keyfile = resolve(values.keyfile ?? context.keyFile);
  const warn = (sentence: string) => terminal.line(sentence);
  const keys = await new KeyFile({ path: keyfile, warn, now: () => new Date(now()) }).keys();
  const isTaken = (name: string) => keys.some((key) => key.name === name);
  if (values.name !== undefined && isTaken(values.name))
    throw new CommandError(
      `There is a key ${values.name} already. Choose another --name, or revoke it: parley keys revoke ${values.name} --keyfile ${keyfile}`,
    );
  const invitations = new Invitations({ path: context.invitationFile, keyfile, warn, now });
  const suggested = values.name === undefined;
  const name = values.name ?? (await freeName('Phone', isTaken));
  const issued = await invitations.create({ name, suggested, ...consoleInvitation });
  const body = JSON.stringify({ token: issued.token });
  const known = await answerOf(lanUrl('http', address, port, previewPath), context.fetch, { method: 'POST', body });
  if (!isObject(known) || known.id !== issued.id) {
    await invitations.withdraw(issued.id);
    throw new CommandError(
      `The server on port ${port} has other keys than ${keyfile}. Name its file with --keyfile.`,
      1,
    );
  }
  for (const line of invitationLines(facts, issued, color)) terminal.line(line);
  return 0;
});

function certificateLine({ hosts, expires }: NonNullable<Awaited<ReturnType<Lan['certificate']>>>): string {
  const end = expires.toISOString().slice(0, 10);
  return `The certificate of the server is for ${hosts.join(', ')}. It ends on ${end}; the server renews it a month before, and for other addresses.`;
}

/** Where the running server answers, and what it says. With `--host` it may listen on one of the addresses only. */
async function serverOn(
  port: number,
  addresses: readonly string[],
  ask: typeof fetch,
): Promise<{ readonly address: string; readonly facts: LanFacts }> {
  const start = 'Start it with parley --lan, or name its port with --port.';
  for (const address of ['127.0.0.1', ...addresses]) {
    const body = await answerOf(lanUrl('http', address, port, lanPath), ask);
    if (body === undefined) continue;
    if (!isObject(body) || body.enabled !== true)
      throw new CommandError(`The server on port ${port} was started without --lan. ${start}`, 1);
    const texts = (value: unknown) => (Array.isArray(value) ? value.filter((item) => typeof item === 'string') : []);
    const { fingerprint } = body;
    const facts = {
      port,
      isPublic: body.public === true,
      addresses: texts(body.addresses),
      names: texts(body.names),
      unnamed: texts(body.unnamed),
      ...(typeof fingerprint === 'string' && { fingerprint }),
    };
    return { address, facts };
  }
  throw new CommandError(`No server answers on port ${port} of this machine. ${start}`, 1);
}

/** Undefined without an answer. */
async function answerOf(url: string, ask: typeof fetch, request?: RequestInit): Promise<unknown> {
  try {
    return await (await ask(url, { ...request, signal: AbortSignal.timeout(5000) })).json();
  } catch {
    return undefined;
  }
}
