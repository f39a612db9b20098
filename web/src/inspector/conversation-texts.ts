import { number, plural, translatable } from '../languages/index.ts';
import type { Cause } from './conversations.ts';

/** All texts of the page of conversations. */
export const texts = translatable('conversations', {
  page: {
    title: 'Conversations',
    tabTitle: (name: string) => `${name} · Parley`,
    client: 'Chat',
    inspector: 'Inspector',
    overview: 'Overview',
  },
  off: {
    title: 'The report on conversations is off',
    about:
      'This server was started with --noagentreport. Start it without this flag to see here, for each agent and chat app, what came from the cache and what had to be computed again.',
  },
  empty: {
    title: 'See where the time of your agents goes',
    about:
      'Coding agents and chat apps send the whole conversation with every turn. What the server still has of it costs nothing; the rest has to be computed again, which can take minutes.',
    steps: [
      'Point an agent or an app to this server, and send it a message.',
      'Its conversation appears here by itself, turn by turn.',
      'If a turn had to be computed again, you see the text that caused it, and what to do.',
    ],
    privacy: 'Only figures and the few words around such a text are kept, in memory. Prompts and replies are not.',
  },
  locked: 'This server needs a password.',
  enterKey: 'Enter password',
  failed: (reason: string) => `Cannot load the conversations: ${reason}`,
  name: (number: number, client: string) => `${client} #${number}`,
  subAgent: 'sub-agent',
  turns: (turns: number) => plural(turns, { one: '# turn', other: '# turns' }),
  sides: (sides: number) => plural(sides, { one: '# side request', other: '# side requests' }),
  key: (name: string) => `key ${name}`,
  saved: (time: string) => `${time} saved`,
  lost: (time: string) => `${time} lost`,
  overview: {
    about:
      'Time saved is what the cached tokens would have taken at the measured prompt speed of the model; time lost is what was computed again although it had been computed before.',
    clients: 'Clients',
    client: 'Client',
    conversations: 'Conversations',
    savedTime: 'Time saved',
    lostTime: 'Time lost',
    losses: 'What lost the most',
    noLosses: 'Nothing was computed twice.',
  },
  history: {
    title: 'Turns',
    turn: (number: number) => `Turn ${number}`,
    tokens: 'Tokens',
    firstToken: 'First token',
    after: (time: string) => `first token ${time}`,
    part: (cached: number, computed: number, written: number) =>
      `${number(cached)} cached, ${number(computed)} computed, ${number(written)} written`,
    parts: { cached: 'cached', lost: 'computed again', computed: 'computed', written: 'written' },
    dropped: (number: number) =>
      `Earlier turns are counted, but no longer shown: the first one here is turn ${number}.`,
  },
  tasks: {
    title: 'Title',
    tags: 'Tags',
    'follow-ups': 'Follow-ups',
    search: 'Search',
    emoji: 'Emoji',
    compaction: 'Compaction',
    other: 'Side request',
  } as Readonly<Record<string, string>>,
  loss: {
    title: 'Computed again',
    summary: (tokens: number, time: string, times: number) =>
      `${number(tokens)} tokens${time ? `, about ${time}` : ''}${times > 1 ? `, in ${times} turns` : ''}`,
    causes: {
      changed: 'The prompt differs from that of the turn before',
      reply: 'The last reply came back in another form',
      trimmed: 'The context is full',
      evicted: 'The conversation was no longer in the cache',
    } satisfies Record<Cause, string>,
    at: (token: number) => `at token ${number(token)}`,
    was: 'Before',
    is: 'Now',
    advice: 'What to do',
    advices: {
      clock:
        'A date or a time near the beginning changes from turn to turn. Remove it from the system prompt, or put it at the end of the last message: everything behind it stays cached then.',
      changed:
        'Everything behind this text is computed again. If it changes by itself (notes, search results, a list of files), let the client put it at the end of the last message.',
      reply:
        'The client leaves out or rewrites a part of the reply, mostly its thinking. Only that reply is computed again; a client that sends the thinking back avoids it.',
      trimmed:
        'The beginning of the conversation is dropped in every turn, and the rest moves. Start the server with a larger --contextsize, or let the client compact the conversation earlier.',
      evicted:
        'Other conversations took its place. Allow more of them with --smartcache or --parallelrequests, keep them on the disk with --diskcache, or close programs that need memory.',
    } satisfies Record<Cause | 'clock', string>,
  },
  /** A dash for none. */
  seconds: (seconds: number) =>
    seconds === 0
      ? '–'
      : seconds < 10
        ? `${number(seconds, { minimumFractionDigits: 1, maximumFractionDigits: 1 })} s`
        : seconds < 90
          ? `${Math.round(seconds)} s`
          : `${number(seconds / 60, { minimumFractionDigits: 1, maximumFractionDigits: 1 })} min`,
});
