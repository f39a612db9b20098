import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, expect, test } from 'vitest';
import { isAlive } from '../live/alive.ts';
import { liveServers } from '../live/server.ts';
import { answerFault } from './answer.ts';
import { type Answer, noAnswer, rawClient } from './client.ts';
import { type ApiDocument, fetchDocument, nameOf } from './document.ts';
import { flags, isTried, leftOut } from './harmless.ts';
import { type FuzzRequest, requests } from './requests.ts';
import { fuzz, replay } from './settings.ts';

const startServer = liveServers();
const atOnce = 8;
/** Requests are made in parts, so that a long run does not hold them all. */
const perPart = 200;
const mostFailures = 10;
/** Of the server alone, whatever it was sent. */
const mostMegabytes = 1500;

const folder = mkdtempSync(join(tmpdir(), 'parley-fuzz-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const minutes = 5 + fuzz.requests / 100;

test('requests: every answer fits the OpenAPI document, and the server goes on', {
  timeout: minutes * 60_000,
}, async () => {
  const server = await startServer([
    ...flags,
    '--admin',
    '--admindir',
    folder,
    '--savedatafile',
    join(folder, 'saved.json'),
  ]);
  const document = await fetchDocument(server.base);
  const operations = document.operations.filter(isTried);
  const client = rawClient(server.port);
  const statusesByOperation = new Map<string, Map<number, number>>();
  const failures: object[] = [];
  /** Each kind of failure is told once. */
  const failing = new Set<string>();
  const startedAt = Date.now();
  console.log(`Fuzz: seed ${fuzz.seed}, ${fuzz.requests} requests for ${operations.length} operations.`);
  for (const [name, why] of Object.entries(leftOut)) console.log(`Left out: ${name}: ${why}`);

  const tryOne = async (request: FuzzRequest): Promise<string | undefined> => {
    try {
      const answer = await client.send(request.sent);
      count(statusesByOperation, request, answer);
      return answerFault(answer, request.operation, document) && describeFault(answer, request, document);
    } catch (error) {
      return `the connection was cut: ${(error as Error).message}`;
    }
  };

  const all = async (waiting: FuzzRequest[]): Promise<void> => {
    const work = async (): Promise<void> => {
      for (let next = waiting.pop(); next && failures.length < mostFailures; next = waiting.pop()) {
        const fault = await tryOne(next);
        if (fault === undefined || failing.has(kindOf(fault))) continue;
        failing.add(kindOf(fault));
        console.log(`Fuzz: seed ${fuzz.seed}: ${fault}\n${JSON.stringify(summary(next))}`);
        const small = fault.includes(noAnswer) ? next : await smallest(next, tryOne);
        failures.push({ fault, ...summary(small) });
      }
    };
    await Promise.all(Array.from({ length: atOnce }, work));
  };

  const memory = [megabytes(server.pid)];
  // Each operation once, and then as it comes.
  await all(operations.flatMap((one, index) => fc.sample(requests([one]), { numRuns: 1, seed: fuzz.seed + index })));
  for (let sent = operations.length; sent < fuzz.requests && failures.length < mostFailures; sent += perPart) {
    const numRuns = Math.min(perPart, fuzz.requests - sent);
    await all(fc.sample(requests(operations), { numRuns, seed: fuzz.seed + sent }));
    if (Math.floor(sent / perPart) % 10 === 9) memory.push(megabytes(server.pid));
  }
  memory.push(megabytes(server.pid));
  client.close();

  const sent = [...statusesByOperation.values()]
    .flatMap((statuses) => [...statuses.values()])
    .reduce((sum, one) => sum + one, 0);
  const seconds = Math.round((Date.now() - startedAt) / 1000);
  console.log(
    `Fuzz: ${sent} answers of ${statusesByOperation.size} operations in ${seconds} s: ${statusText(statusesByOperation)}.`,
  );
  console.log(`Fuzz: memory of the server in MB: ${memory.join(', ')}.`);
  if (failures.length > 0) console.log(`Fuzz: seed ${fuzz.seed}. Again with: ${replay('requests')}`);

  expect(failures).toEqual([]);
  expect(operations.map(nameOf).filter((name) => !statusesByOperation.has(name))).toEqual([]);
  expect(isAlive(server.pid)).toBe(true);
  expect(server.output()).not.toMatch(/unexpected went wrong|unhandled|uncaught/i);
  expect((await fetch(`${server.base}/ping`)).status).toBe(200);
  expect(Math.max(...memory)).toBeLessThan(mostMegabytes);
});

function count(
  statusesByOperation: Map<string, Map<number, number>>,
  { operation }: FuzzRequest,
  { status }: Answer,
): void {
  const name = nameOf(operation);
  const statuses = statusesByOperation.get(name) ?? new Map<number, number>();
  statusesByOperation.set(name, statuses.set(status, (statuses.get(status) ?? 0) + 1));
}

function describeFault(answer: Answer, { operation }: FuzzRequest, document: ApiDocument): string {
  const text = answer.body.subarray(0, 600).toString('utf8');
  return `${nameOf(operation)}: ${answerFault(answer, operation, document)} in ${answer.status} ${text}`;
}

/** Without the endpoint and the numbers of this one. */
function kindOf(fault: string): string {
  return fault
    .replace(/^[A-Z]+ \S+: /, '')
    .replace(/\d+/g, '#')
    .slice(0, 120);
}

/** A request with as few members and headers as still fails. */
async function smallest(
  request: FuzzRequest,
  tryOne: (one: FuzzRequest) => Promise<string | undefined>,
): Promise<FuzzRequest> {
  let best = request;
  for (let better: FuzzRequest | undefined = best; better; ) {
    best = better;
    better = undefined;
    for (const candidate of smaller(best).slice(0, 40)) {
      if ((await tryOne(candidate)) === undefined) continue;
      better = candidate;
      break;
    }
  }
  return best;
}

function smaller({ operation, sent }: FuzzRequest): readonly FuzzRequest[] {
  const withBody = (json: object): FuzzRequest => ({
    operation,
    sent: { ...sent, body: Buffer.from(JSON.stringify(json)), chunks: [] },
  });
  const withoutHeaders = Object.keys(sent.headers).map((name) => ({
    operation,
    sent: { ...sent, headers: Object.fromEntries(Object.entries(sent.headers).filter(([other]) => other !== name)) },
  }));
  try {
    const body = JSON.parse(sent.body.toString('utf8')) as object;
    const names = Object.keys(body);
    const entries = Object.entries(body);
    return [
      ...names.map((name) => withBody(Object.fromEntries(entries.filter(([other]) => other !== name)))),
      ...withoutHeaders,
    ];
  } catch {
    return withoutHeaders;
  }
}

function summary({ sent: { method, target, headers, body, chunks } }: FuzzRequest): object {
  return { method, target, headers, chunks: chunks.length, body: body.subarray(0, 1500).toString('utf8') };
}

function statusText(statusesByOperation: ReadonlyMap<string, ReadonlyMap<number, number>>): string {
  const all = new Map<number, number>();
  for (const statuses of statusesByOperation.values())
    for (const [status, times] of statuses) all.set(status, (all.get(status) ?? 0) + times);
  const sorted = [...all].sort(([one], [other]) => one - other);
  return sorted.map(([status, times]) => `${status} ${times}×`).join(', ');
}

function megabytes(pid: number): number {
  return Math.round(Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) / 1024);
}
