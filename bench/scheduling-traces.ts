import { readFileSync } from 'node:fs';
import type { RecordedRequest } from './recorded-trace.ts';
import type { Chat, Trace } from './scheduling-simulation.ts';
import { seededRandom } from './seeded-random.ts';

const single = (afterMs: number, added: number, reply: number, predictable = 0): Chat => ({
  system: 0,
  predictable,
  turns: [{ afterMs, added, reply }],
});

const times = <One>(count: number, make: (index: number) => One): One[] =>
  Array.from({ length: count }, (_, index) => make(index));

/** The widths of `bench serve`, in turn; a wave begins long after the end of the last one. */
function waves(slots: number, length: number): Chat[] {
  return [1, 2, 3, 4, 5, 7, 8, 12, 3, 6, 2, 4].flatMap((width, wave) =>
    times(Math.min(width, slots), (index) => single(wave * 60_000, length + index, 96)),
  );
}

/** People who read, think and go on; some edit their chat near its top, and some have a title made after the first reply. */
function people(count: number, turns: number, seed: number): Chat[] {
  const random = seededRandom(seed);
  const system = 300;
  const chats = times(count, (): Chat => {
    const start = random() * 20_000;
    return {
      system,
      predictable: 0.2,
      turns: times(turns, (turn) => ({
        afterMs: turn === 0 ? start : 1000 + random() * 15_000,
        added: 20 + Math.floor(random() * 200),
        reply: 40 + Math.floor(random() * 200),
        ...(turn > 0 && random() < 0.15 ? { cut: 30 } : {}),
      })),
    };
  });
  const titles = times(
    Math.floor(count / 2),
    (index): Chat => ({
      system: 60,
      predictable: 0,
      turns: [{ afterMs: 30_000 + index * 4000, added: 20, reply: 12, quotes: index }],
    }),
  );
  return [...chats, ...titles];
}

/** Clients that each send one unrelated short request after the other. */
function clients(count: number, requests: number): Chat[] {
  const random = seededRandom(count);
  return times(count, (client) => ({
    system: 0,
    predictable: 0,
    turns: times(requests, (turn) => ({
      afterMs: turn === 0 ? client * 30 : 0,
      added: 20 + Math.floor(random() * 60),
      reply: 20 + Math.floor(random() * 60),
      cut: Number.POSITIVE_INFINITY,
    })),
  }));
}

/** Chats in which small differences change all that follows: several of them, which are averaged. */
const chatter = (slots: number, count: number, turns: number, draft = 0): Trace[] =>
  [1, 2, 3].map((seed) => ({
    name: `${count} people in ${slots} slots${draft > 0 ? ', drafts' : ''}, ${seed}`,
    slots,
    draft,
    chats: people(count, turns, seed),
  }));

const drafting = (streams: number, predictable: readonly number[]): Trace => ({
  name: `drafts, ${streams} at once`,
  slots: 8,
  draft: 8,
  chats: predictable.flatMap((share, group) => times(streams, () => single(group * 60_000, 30, 256, share))),
});

/** Made by `npm run bench -- record`. */
const recorded = (file: string, slots: number): Trace => ({
  name: `${file}, recorded, in ${slots} slots`,
  slots,
  draft: 0,
  chats: [],
  recorded: JSON.parse(readFileSync(`bench/traces/${file}.json`, 'utf8')) as readonly RecordedRequest[],
});

export const traces: readonly Trace[] = [
  recorded('agent', 4),
  recorded('agent', 16),
  recorded('chat', 4),
  recorded('chat', 16),
  { name: 'waves of short requests', slots: 16, draft: 0, chats: waves(16, 24) },
  { name: 'waves of long requests', slots: 16, draft: 0, chats: waves(16, 1200) },
  { name: 'waves in four slots', slots: 4, draft: 0, chats: waves(4, 24) },
  {
    name: 'long prompts beside streams',
    slots: 8,
    draft: 0,
    chats: [
      ...times(4, () => single(0, 30, 400)),
      single(300, 4000, 60),
      ...times(6, (index) => single(500 + index * 400, 40 + 60 * index, 60)),
      single(3000, 2000, 60),
    ],
  },
  {
    name: '16 prompts at once',
    slots: 16,
    draft: 0,
    chats: times(16, (index) => single(0, 20 + ((index * 37) % 200), 64)),
  },
  { name: '4 clients in 16 slots', slots: 16, draft: 0, chats: clients(4, 20) },
  { name: '8 clients in 32 slots', slots: 32, draft: 0, chats: clients(8, 15) },
  ...chatter(4, 3, 8),
  ...chatter(4, 8, 6),
  ...chatter(16, 12, 8),
  ...chatter(16, 30, 5),
  drafting(1, [0, 0.3, 0.6, 0.9]),
  drafting(2, [0, 0.3, 0.6, 0.9]),
  drafting(4, [0, 0.3, 0.6, 0.9]),
  drafting(8, [0, 0.3, 0.6, 0.9]),
  ...chatter(4, 3, 8, 8),
];
