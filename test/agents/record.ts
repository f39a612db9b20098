import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';

/** A request of an agent, without the texts that say nothing about its form. */
interface RecordedRequest {
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Readonly<Record<string, unknown>>;
  /** Keys of the body that are as in the request before. */
  readonly unchanged?: readonly string[];
}

const recordings = new URL('./recordings/', import.meta.url);

/** The requests of an agent in one session, as `PARLEY_TEST_RECORD=1 npm run test:agents` wrote them. */
export function recordedRequests(agent: string): readonly Omit<RecordedRequest, 'unchanged'>[] {
  const requests = JSON.parse(readFileSync(new URL(`${agent}.json`, recordings), 'utf8')) as RecordedRequest[];
  let before: RecordedRequest['body'] = {};
  return requests.map(({ unchanged = [], body, ...rest }) => {
    before = { ...body, ...Object.fromEntries(unchanged.map((key) => [key, before[key]])) };
    return { ...rest, body: before };
  });
}

function withoutRepetitions(requests: readonly RecordedRequest[]): readonly RecordedRequest[] {
  return requests.map((request, index) => {
    const before = requests[index - 1]?.body ?? {};
    const isSame = ([key, value]: [string, unknown]) => JSON.stringify(before[key]) === JSON.stringify(value);
    const entries = Object.entries(request.body);
    const unchanged = entries.filter(isSame).map(([key]) => key);
    return { ...request, body: Object.fromEntries(entries.filter((entry) => !isSame(entry))), unchanged };
  });
}

const maxText = 80;

/** Passes requests on to the server at the port, and records those with a body. */
export async function recorder(port: number, own: readonly (readonly [path: string, name: string])[]) {
  const requests: RecordedRequest[] = [];
  const proxy = createServer(async (incoming, outgoing) => {
    const { method = 'GET', url = '/', headers } = incoming;
    const chunks: Buffer[] = [];
    for await (const chunk of incoming) chunks.push(chunk as Buffer);
    const body = Buffer.concat(chunks);
    if (body.length > 0)
      requests.push({ path: url, headers: keptHeaders(headers), body: redacted(JSON.parse(String(body))) });
    const { host: _, 'content-length': __, connection: ___, ...passed } = headers;
    const reply = await fetch(`http://127.0.0.1:${port}${url}`, {
      method,
      headers: passed as Record<string, string>,
      ...(body.length > 0 && { body }),
    });
    outgoing.writeHead(reply.status, { 'content-type': reply.headers.get('content-type') ?? 'text/plain' });
    if (reply.body) for await (const chunk of reply.body) outgoing.write(chunk);
    outgoing.end();
  });
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));

  function redacted<Value>(value: Value, key = ''): Value {
    if (Array.isArray(value)) return value.map((entry) => redacted(entry)) as Value;
    if (typeof value === 'object' && value !== null) {
      const entries = Object.entries(value).filter(([name]) => name !== 'safeguards');
      return Object.fromEntries(entries.map(([name, entry]) => [name, redacted(entry, name)])) as Value;
    }
    if (typeof value !== 'string') return value;
    if (key === 'description') return 'What it is.' as Value;
    // JSON in a text.
    if (key === 'arguments') return value;
    const text = own.reduce((all, [path, name]) => all.replaceAll(path, name), value as string);
    return (text.length > maxText ? `${text.slice(0, maxText / 2)} …` : text) as Value;
  }

  return {
    port: (proxy.address() as AddressInfo).port,
    close: () => new Promise((resolve) => proxy.close(resolve)),
    write: (name: string) => {
      mkdirSync(recordings, { recursive: true });
      writeFileSync(
        fileURLToPath(new URL(`${name}.json`, recordings)),
        `[\n${withoutRepetitions(requests)
          .map((one) => JSON.stringify(one))
          .join(',\n')}\n]\n`,
      );
    },
  };
}

/** Those that say which program and conversation it is; of the program only its name and version. */
function keptHeaders(headers: NodeJS.Dict<string | string[]>): Record<string, string> {
  const named = Object.entries(headers).filter(([name]) =>
    /^(user-agent|originator|anthropic-.*|x-session-.*|session-id)$/.test(name),
  );
  return Object.fromEntries(named.map(([name, value]) => [name, String(value).split(' ')[0] ?? '']));
}
