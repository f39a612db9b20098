import { type Candidate, choose } from '../src/engines/remote/load-balancing.ts';
import { seededRandom } from './seeded-random.ts';
import { percentile } from './statistics.ts';

/** How a backend is chosen for a request. */
export const strategies = ['any', 'least work', 'Parley'] as const;
export type Strategy = (typeof strategies)[number];

/** A cluster and its people, in tokens and milliseconds. None of it is measured: these are the figures of an 8B model on one large card each. */
export interface Cluster {
  readonly replicas: number;
  readonly clients: number;
  readonly seconds: number;
  /** So much of the beginning is the same for all conversations of a kind. */
  readonly kinds: number;
  readonly systemTokens: number;
  readonly questionTokens: number;
  readonly replyTokens: number;
  readonly turns: number;
  readonly thinkSeconds: number;
  readonly readTokensPerSecond: number;
  /** A token takes this long for one reply, and so much more for each other one beside it. */
  readonly tokenMs: number;
  readonly tokenMsPerReply: number;
  /** Cache size of a backend, in tokens. */
  readonly cacheTokens: number;
}

export const largeCluster: Cluster = {
  replicas: 100,
  clients: 10_000,
  seconds: 240,
  kinds: 20,
  systemTokens: 600,
  questionTokens: 150,
  replyTokens: 200,
  turns: 8,
  thinkSeconds: 30,
  readTokensPerSecond: 10_000,
  tokenMs: 15,
  tokenMsPerReply: 0.3,
  cacheTokens: 400_000,
};

export interface Figures {
  readonly requests: number;
  /** Share of all prompt tokens that were found in a cache. */
  readonly prefixHits: number;
  /** Work of the busiest replica over that of the mean, in replies that ran at once and over the whole time. */
  readonly mostAtOnce: number;
  readonly balance: number;
  readonly firstTokenMs: { readonly median: number; readonly p99: number };
}

interface Replica extends Candidate {
  running: number;
  served: number;
  /** When it has read all that it was given. */
  readUntil: number;
  /** What it remembers of each conversation, the oldest first. */
  readonly cache: Map<string, number>;
  cached: number;
}

interface Client {
  readonly number: number;
  conversation: number;
  turn: number;
  kind: number;
}

/** Plays it in its own time, which passes as fast as it can be reckoned. The same seed gives the same figures. */
export function simulate(cluster: Cluster, strategy: Strategy, seed = 1): Figures {
  const random = seededRandom(seed);
  const replicas: Replica[] = Array.from({ length: cluster.replicas }, (_, number) => ({
    id: `http://replica-${number}:8000`,
    weight: 1,
    running: 0,
    served: 0,
    readUntil: 0,
    cache: new Map(),
    cached: 0,
  }));
  const clients: Client[] = Array.from({ length: cluster.clients }, (_, number) => ({
    number,
    conversation: 0,
    turn: 0,
    kind: number % cluster.kinds,
  }));
  const moments = new Moments();
  const wait = (): number => -Math.log(1 - random()) * cluster.thinkSeconds * 1000;
  const firstTokens: number[] = [];
  let [prompts, hits, mostAtOnce] = [0, 0, 0];
  const settled = (cluster.seconds * 1000) / 4;

  function ask(client: Client, now: number): void {
    const { systemTokens, questionTokens, replyTokens } = cluster;
    const key = `${client.number}.${client.conversation}`;
    const length = systemTokens + questionTokens + client.turn * (questionTokens + replyTokens);
    const replica = pick(replicas, strategy, key, random);
    const kindKey = `kind ${client.kind}`;
    const known = Math.max(replica.cache.get(key) ?? 0, replica.cache.get(kindKey) ?? 0);
    const readMs = ((length - known) / cluster.readTokensPerSecond) * 1000;
    replica.readUntil = Math.max(now, replica.readUntil) + readMs;
    replica.running += 1;
    replica.served += 1;
    const tokenMs = cluster.tokenMs + cluster.tokenMsPerReply * replica.running;
    const firstAt = replica.readUntil + tokenMs;
    if (now >= settled) {
      prompts += length;
      hits += known;
      firstTokens.push(firstAt - now);
      mostAtOnce = Math.max(mostAtOnce, replica.running);
    }
    moments.add(firstAt + tokenMs * replyTokens, (then) => {
      replica.running -= 1;
      remember(replica, kindKey, systemTokens, cluster.cacheTokens);
      remember(replica, key, length + replyTokens, cluster.cacheTokens);
      client.turn += 1;
      if (client.turn === cluster.turns) {
        client.turn = 0;
        client.conversation += 1;
      }
      moments.add(then + wait(), (later) => ask(client, later));
    });
  }

  for (const client of clients) moments.add(wait(), (now) => ask(client, now));
  moments.play(cluster.seconds * 1000);
  const served = replicas.map((replica) => replica.served);
  const meanServed = served.reduce((sum, count) => sum + count, 0) / served.length;
  return {
    requests: firstTokens.length,
    prefixHits: hits / prompts,
    mostAtOnce,
    balance: Math.max(...served) / meanServed,
    firstTokenMs: { median: percentile(firstTokens, 0.5), p99: percentile(firstTokens, 0.99) },
  };
}

function pick(replicas: readonly Replica[], strategy: Strategy, affinity: string, random: () => number): Replica {
  const found = {
    any: () => replicas[Math.floor(random() * replicas.length)],
    'least work': () => leastWork(replicas, random),
    Parley: () => choose(replicas, affinity),
  }[strategy]();
  if (!found) throw new RangeError('a cluster without replicas');
  return found;
}

/** A random one of the least loaded. */
function leastWork(replicas: readonly Replica[], random: () => number): Replica | undefined {
  const least = Math.min(...replicas.map(({ running }) => running));
  const free = replicas.filter(({ running }) => running === least);
  return free[Math.floor(random() * free.length)];
}

/** What was not needed for longest is forgotten first. */
function remember(replica: Replica, key: string, tokens: number, most: number): void {
  replica.cached += tokens - (replica.cache.get(key) ?? 0);
  replica.cache.delete(key);
  replica.cache.set(key, tokens);
  for (const [oldest, length] of replica.cache) {
    if (replica.cached <= most) return;
    replica.cache.delete(oldest);
    replica.cached -= length;
  }
}

type Happening = (now: number) => void;

/** Events ordered by time: a binary heap. */
class Moments {
  readonly #heap: { readonly at: number; readonly happens: Happening }[] = [];

  add(at: number, happens: Happening): void {
    const heap = this.#heap;
    let place = heap.length;
    const moment = { at, happens };
    while (place > 0) {
      const parent = (place - 1) >> 1;
      const above = heap[parent];
      if (!above || above.at <= at) break;
      heap[place] = above;
      place = parent;
    }
    heap[place] = moment;
  }

  play(until: number): void {
    for (let next = this.#take(); next && next.at <= until; next = this.#take()) next.happens(next.at);
  }

  #take(): { readonly at: number; readonly happens: Happening } | undefined {
    const heap = this.#heap;
    const first = heap[0];
    const last = heap.pop();
    if (!first || !last || heap.length === 0) return first;
    let place = 0;
    for (;;) {
      const left = 2 * place + 1;
      const right = left + 1;
      const [one, other] = [heap[left], heap[right]];
      if (!one) break;
      const [child, below] = other && other.at < one.at ? [right, other] : [left, one];
      if (last.at <= below.at) break;
      heap[place] = below;
      place = child;
    }
    heap[place] = last;
    return first;
  }
}
