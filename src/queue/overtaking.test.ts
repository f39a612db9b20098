import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { interrupts, maxOvertakingSeconds, overtakes, servingOrder } from './policy.ts';
import { type Admission, Queue } from './queue.ts';

/** A request of the simulation: seconds for its prompt, then for its reply, which is never interrupted. */
interface Work {
  readonly client: string;
  readonly at: number;
  readonly prompt: number;
  readonly reply: number;
}

interface Run extends Work {
  place: Admission;
  begun: boolean;
  promptLeft: number;
  replyLeft: number;
  interrupted: boolean;
  firstAt: number;
  endedAt: number;
}

const settled = () => new Promise((resolve) => setImmediate(resolve));

/** Requests on an engine that works on one of them at a time, in whole ticks of a simulated clock. */
async function simulate(list: readonly Work[], { tick = 1, estimates = true } = {}) {
  let now = 0;
  const queue = new Queue({ capacity: 1, maxRequests: () => list.length, now: () => now * 1000 });
  const runs: Run[] = [];
  const coming = list.toSorted((one, other) => one.at - other.at);
  const report = (run: Run) => {
    const interrupt = run.promptLeft > 0 ? () => (run.interrupted = true) : undefined;
    if (estimates) run.place.expect(run.promptLeft + run.replyLeft, interrupt);
  };
  const enter = (work: Work): Run => {
    const place = queue.enter({ client: work.client, alone: true });
    const times = { promptLeft: work.prompt, replyLeft: work.reply, firstAt: 0, endedAt: 0 };
    const run: Run = { ...work, ...times, place, begun: false, interrupted: false };
    const wait = () => void place.turn.then(() => (run.begun = true));
    wait();
    report(run);
    return run;
  };
  for (; runs.length < list.length || runs.some(({ endedAt }) => endedAt === 0); now += tick) {
    while (coming[0] && coming[0].at <= now) {
      runs.push(enter(coming.shift() as Work));
      await settled();
    }
    const run = runs.find(({ begun, endedAt }) => begun && endedAt === 0);
    if (!run) continue;
    if (run.interrupted && run.promptLeft > 0) {
      Object.assign(run, { begun: false, interrupted: false });
      void run.place.resume().then(() => (run.begun = true));
      await settled();
      now -= tick;
      continue;
    }
    if (run.promptLeft > 0) {
      run.promptLeft -= tick;
      if (run.promptLeft <= 0) run.firstAt = now + tick;
    } else run.replyLeft -= tick;
    report(run);
    if (run.promptLeft > 0 || run.replyLeft > 0) continue;
    run.endedAt = now + tick;
    run.place.leave();
    await settled();
  }
  return runs;
}

const request = (arrivedAt: number, expectedSeconds: number | undefined, client = 'a') => ({
  client,
  arrivedAt,
  expectedSeconds,
  alone: true,
  cost: 1,
});

describe('overtakes', () => {
  test.each([
    ['a shorter request overtakes', [1, 2], [0, 10], true],
    ['not if the other could have ended before it came', [9, 2], [0, 10], false],
    ['requests of the same length stay in their order', [0, 5], [0, 5], false],
    ['a longer one does not', [1, 20], [0, 10], false],
    ['a request of unknown duration overtakes none', [1, undefined], [0, 10], false],
    ['and is overtaken by none', [1, 2], [0, undefined], false],
    ['a very long one is overtaken for a minute only', [maxOvertakingSeconds, 1], [0, 100_000], false],
  ] as const)('%s', (_, [at, seconds], [earlierAt, earlierSeconds], expected) =>
    expect(overtakes(request(at, seconds), request(earlierAt, earlierSeconds))).toBe(expected),
  );
  test('interrupts: only for at most half of what is left', () => {
    expect(interrupts(request(0, 5), request(0, 10))).toBe(true);
    expect(interrupts(request(0, 6), request(0, 10))).toBe(false);
  });
});

describe('servingOrder', () => {
  const times = (...waiting: ReturnType<typeof request>[]) =>
    servingOrder([], waiting).map(({ expectedSeconds }) => expectedSeconds);
  test('a client serves its short requests first', () =>
    expect(times(request(0, 30), request(1, 10), request(2, 1))).toEqual([1, 10, 30]));
  test('a short request takes no turn of another client', () =>
    expect(times(request(0, 30), request(1, 20, 'b'), request(2, 1))).toEqual([1, 20, 30]));
  test('an interrupted request continues before those of all clients', () => {
    const interrupted = { ...request(0, 20), resumes: true };
    expect(times(request(1, 18, 'b'), request(2, 30, 'c'), interrupted)).toEqual([20, 18, 30]);
  });
  test('an interrupted request waits for the one that interrupts it', () => {
    const interrupted = { ...request(0, 20), resumes: true };
    expect(times(request(1, 2, 'b'), request(2, 30, 'c'), interrupted)).toEqual([2, 20, 30]);
  });
});

describe('Queue: overtaking', () => {
  const work = fc.record({
    client: fc.constantFrom('a', 'b', 'c'),
    at: fc.nat(80),
    prompt: fc.integer({ min: 1, max: 90 }),
    reply: fc.integer({ min: 1, max: 9 }),
  });

  test('Queue: no starvation: every request ends, and none is overtaken by its own client later than the bound', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(work, { maxLength: 12 }), async (list) => {
        const runs = await simulate(list);
        expect(runs).toHaveLength(list.length);
        for (const one of runs) {
          const window = Math.min(maxOvertakingSeconds, one.prompt + one.reply);
          const overtaking = runs.filter((other) => other.at > one.at && other.firstAt < one.firstAt);
          const own = overtaking.filter(({ client }) => client === one.client);
          expect(own.filter((other) => other.at - one.at >= window)).toEqual([]);
        }
      }),
      { numRuns: 30 },
    );
  });

  test('Queue: a prompt is interrupted for one request of each other client', async () => {
    const others = [1, 2, 3].map((at) => ({ client: 'other', at, prompt: 1, reply: 1 }));
    const runs = await simulate([{ client: 'long', at: 0, prompt: 40, reply: 1 }, ...others]);
    expect(runs.map(({ firstAt }) => firstAt)).toEqual([42, 2, 44, 46]);
  });

  test('Queue: the position of a waiting request is the one that it is served at', async () => {
    const queue = new Queue({ capacity: 1, maxRequests: () => 10, now: () => 0 });
    const long = queue.enter({ client: 'long', alone: true });
    long.expect(40, () => {});
    const others = ['other', 'other', 'third'].map((client) => queue.enter({ client, alone: true }));
    for (const [index, seconds] of [2, 1, 50].entries()) others[index]?.expect(seconds);
    void long.resume();
    await settled();
    const positions = () => [...others, long].map((place) => place.position()?.position);
    expect(positions()).toEqual([3, undefined, 2, 1]);
    for (const place of [others[1], long, others[2]]) place?.leave();
    expect(positions()).toEqual([undefined, undefined, undefined, undefined]);
  });

  test('Queue: a reply is never interrupted', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(work, { maxLength: 12 }), async (list) => {
        for (const { firstAt, endedAt, reply } of await simulate(list)) expect(endedAt - firstAt).toBe(reply);
      }),
      { numRuns: 30 },
    );
  });

  test('Queue: requests of the same size run one after the other, as they came', async () => {
    const same = [0, 0, 0, 0].map((at) => ({ client: 'a', at, prompt: 2, reply: 1 }));
    expect((await simulate(same)).map(({ endedAt }) => endedAt)).toEqual([3, 6, 9, 12]);
  });

  test('Queue: a turn of an agent does not wait for the prompts of its sub-agents, and costs them its own time only', async () => {
    const subAgents = [1, 2].map(() => ({ client: 'agent', at: 0, prompt: 30, reply: 2 }));
    const traffic = [...subAgents, { client: 'agent', at: 1, prompt: 2, reply: 2 }];
    const firstTokens = (runs: readonly Run[]) => runs.map(({ firstAt, at }) => firstAt - at);
    expect(firstTokens(await simulate(traffic, { estimates: false }))).toEqual([30, 62, 65]);
    expect(firstTokens(await simulate(traffic))).toEqual([34, 66, 2]);
  });

  test('Queue: a person who comes while a long prompt of an agent is processed is answered first', async () => {
    const traffic = [
      { client: 'agent', at: 0, prompt: 100, reply: 5 },
      { client: 'person', at: 20, prompt: 1, reply: 4 },
    ];
    expect((await simulate(traffic)).map(({ firstAt, at }) => firstAt - at)).toEqual([105, 1]);
  });
});
