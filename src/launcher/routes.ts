import { Channel } from '../core/channel.ts';
import { AppError } from '../core/errors.ts';
import type { JsonObject } from '../http/body.ts';
import { type Call, type Endpoint, json, type Reply } from '../http/call.ts';
import { commentFrame, dataFrame, sseHeaders } from '../http/sse.ts';
import { read } from '../protocols/access.ts';
import { bodyOf, endpointRow, type PlainEndpoint } from '../protocols/endpoint.ts';
import type { FileKind } from './folders.ts';
import { launcherForm } from './form.ts';
import { launcherDialect, type Session } from './page.ts';
import type { ConsoleEvent } from './server-process.ts';
import type { LauncherService } from './service.ts';

const keepAliveMs = 15_000;

/** Endpoints of the launcher page, for its session only. */
export function launcherEndpoints(session: Session, service: LauncherService): Endpoint[] {
  const row = endpointRow(read(), { method: 'GET', dialect: launcherDialect });
  const get = (name: string, summary: string, handle: Endpoint['handle']) => row(`/launcher/${name}`, summary, handle);
  const post = (name: string, summary: string, answer: (body: JsonObject) => Promise<Reply>) =>
    row(`/launcher/${name}`, summary, async (call) => answer(await bodyOf(call, 'object')), { method: 'POST' });
  return sessionEndpoints(session, [
    get('form', 'The settings by their tabs, and what they are now.', () =>
      json({ ...launcherForm(), ...service.present() }),
    ),
    get('files', 'What is in a folder.', async ({ query }) => {
      const folder = await service.folder(query.get('folder') ?? '', fileKindOf(query.get('wanted')));
      return folder ? json(folder) : notFound('This folder cannot be opened.');
    }),
    get('models', 'The models that are on this machine already.', async () => json(await service.models())),
    get('model', 'What is known of a model file, and whether it fits.', async ({ query }) => {
      const [contextSize, sequences] = [Number(query.get('context')) || 0, Number(query.get('parallel')) || 1];
      const facts = await service.model(query.get('path') ?? '', contextSize, sequences);
      return facts ? json(facts) : notFound('This file cannot be looked at.');
    }),
    post('load', 'The settings of a config file.', async ({ path }) => outcome(await service.load(String(path ?? '')))),
    post('save', 'Write the settings to a config file.', async (body) => outcome(await service.save(body))),
    post('check', 'What is wrong with the settings, and how they would be typed.', async ({ values }) =>
      json(service.check(values)),
    ),
    post('launch', 'Start the server.', async ({ values }) => outcome(await service.launch(values))),
    post('stop', 'Stop the server.', async () => {
      service.serverProcess.stop();
      return json({ ok: true });
    }),
    post('quit', 'End the launcher.', async () => {
      service.quit();
      return json({ ok: true });
    }),
    get('console', 'What the server says, as it says it.', (call) => consoleReply(call, service)),
  ]);
}

/** Endpoints of the server that the page uses as well, for its session only. */
export function sessionEndpoints(session: Session, endpoints: readonly PlainEndpoint[]): Endpoint[] {
  return endpoints.map(({ method, match, path, summary, dialect, handle }) => ({
    method,
    match,
    path,
    summary,
    dialect,
    rateLimited: false,
    access: 'guarded',
    handle: (call) => {
      if (!session.admits(call.headers)) throw new AppError('unauthorized', {});
      return handle(call, undefined);
    },
  }));
}

const outcome = (result: object): Reply => json(result, 'problems' in result ? 400 : 200);

const notFound = (problem: string): Reply => json({ problems: [problem] }, 404);

const fileKindOf = (text: string | null): FileKind => (text === 'model' || text === 'config' ? text : 'any');

/** The console so far, then each event. */
function consoleReply({ signal }: Call, { serverProcess }: LauncherService): Reply {
  let unwatch = (): void => undefined;
  const channel = new Channel<string>(() => unwatch());
  const push = (event: ConsoleEvent): void => channel.push(dataFrame(JSON.stringify(event)));
  push({ type: 'state', state: serverProcess.state });
  for (const text of serverProcess.lines) push({ type: 'line', text });
  unwatch = serverProcess.watch((event) => {
    // A new start clears the console.
    if (event.type === 'state' && event.state.type === 'starting') channel.push(dataFrame('{"type":"clear"}'));
    push(event);
  });
  signal.addEventListener('abort', () => unwatch(), { once: true });
  return {
    status: 200,
    headers: sseHeaders,
    stream: channel,
    keepAlive: { milliseconds: keepAliveMs, filler: commentFrame('alive') },
  };
}
