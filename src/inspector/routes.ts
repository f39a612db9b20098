import { AppError } from '../core/errors.ts';
import { percentDecoded } from '../core/percent-decoded.ts';
import { type Call, json, type Reply } from '../http/call.ts';
import { admin, adminRead } from '../protocols/access.ts';
import { type AdminAccess, mayAdminister } from '../protocols/admin/access.ts';
import type { DialectContext } from '../protocols/dialect.ts';
import { bodyOf, type EndpointShape, endpointRow, type ModelEndpoint } from '../protocols/endpoint.ts';
import { honoured, readFields, readName } from '../protocols/fields.ts';
import { inspectorDialect } from './dialect.ts';
import type { RequestRecord } from './record.ts';
import { redactor } from './redact.ts';
import type { ReplayDialect } from './replay.ts';
import type { RequestStore } from './store.ts';

interface InspectorOptions<Context> {
  readonly store: RequestStore;
  readonly access: AdminAccess;
  readonly dialects: () => Promise<readonly ReplayDialect<Context>[]>;
  readonly endpoints: () => readonly EndpointShape[];
  /** Passwords and keys of the settings. */
  readonly secrets: readonly string[];
}

const path = '/api/extra/requests';
const row = endpointRow(adminRead, { method: 'GET', dialect: inspectorDialect, recorded: false });

const replayFields = {
  as: honoured(readName, 'openai, completions, messages, responses, ollama, native or llamacpp.'),
};

/**
 * What `--inspect` keeps, for administrators. Everything that they get passes the redactor. What makes the replies is loaded
 * on first use.
 */
export function inspectorEndpoints<Context extends DialectContext>({
  store,
  access,
  dialects,
  endpoints,
  secrets,
}: InspectorOptions<Context>): ModelEndpoint<Context>[] {
  const allowed = (call: Call): void => {
    if (!mayAdminister(access, call)) throw new AppError('admin-only', {});
  };
  const redactFor = (record: RequestRecord) => redactor([...secrets, ...record.secrets]);
  const reply = (value: unknown, record: RequestRecord): Reply => json(redactFor(record)(value));
  const requested = (call: Call): { readonly record: RequestRecord; readonly action: string | undefined } => {
    allowed(call);
    const [id = '', ...rest] = call.path.slice(call.path.lastIndexOf(`${path}/`) + path.length + 1).split('/');
    const record = store.find(percentDecoded(id));
    if (!record) throw new AppError('not-stored', { what: 'recorded request', id: percentDecoded(id) });
    return { record, action: rest.length > 0 ? rest.join('/') : undefined };
  };
  const notFound = ({ method, path: sent }: Call) => new AppError('not-found', { method, path: sent });
  return [
    row(
      path,
      'The last requests that --inspect keeps, the newest first.',
      async (call) => {
        allowed(call);
        const { summaryOf } = await import('./view.ts');
        // All else of a summary is made by the server.
        const requests = store.list().map((record) => {
          const { path: sent, program, ...summary } = summaryOf(record);
          const redact = redactFor(record);
          return { ...summary, path: redact(sent), program: redact(program) };
        });
        return json({ keeps: store.count, requests });
      },
      { response: 'requests' },
    ),
    row(
      path,
      'Forget all requests that --inspect keeps.',
      (call) => {
        allowed(call);
        store.clear();
        return json({ success: true });
      },
      { ...admin, method: 'DELETE', response: 'success' },
    ),
    row(
      `${path}/`,
      `A request that --inspect keeps (${path}/{id}): body, neutral request, prompt, events, response and timings.`,
      async (call) => {
        const { record, action } = requested(call);
        if (action !== undefined) throw notFound(call);
        const [{ replayMode }, { detailOf }] = await Promise.all([import('./replay.ts'), import('./view.ts')]);
        const shows = (await dialects()).map((dialect) => {
          const showing = replayMode(record, dialect);
          const reason = showing.type === 'impossible' ? { reason: showing.reason } : {};
          return { name: dialect.name, title: dialect.title, shows: showing.type, ...reason };
        });
        return reply({ ...detailOf(record, endpoints()), dialects: shows }, record);
      },
      { match: 'prefix', below: { '{id}': { response: 'request' } } },
    ),
    row(
      `${path}/`,
      `Shows the same generation in another dialect (${path}/{id}/replay). Nothing is generated again.`,
      async (call, context: Context) => {
        const { record, action } = requested(call);
        if (action !== 'replay') throw notFound(call);
        const { as } = readFields(replayFields, await bodyOf(call));
        const known = await dialects();
        const dialect = known.find(({ name }) => name === as);
        if (!dialect) {
          const expected = `one of ${known.map(({ name }) => name).join(', ')}`;
          throw new AppError('invalid-field', { field: 'as', expected });
        }
        const { replay } = await import('./replay.ts');
        return reply(await replay(record, dialect, context, call.signal), record);
      },
      {
        ...admin,
        method: 'POST',
        match: 'prefix',
        below: { '{id}/replay': { fields: replayFields, response: 'replay' } },
      },
    ),
  ];
}
