import { reformatted } from '../api/loose.ts';
import { containsWords } from '../ui/search.ts';

/** A line of `GET api/extra/requests`. */
export interface Summary {
  readonly id: string;
  readonly time: string;
  readonly method: string;
  readonly path: string;
  readonly family: string;
  readonly kind: string | null;
  readonly model: string | null;
  readonly status: number | null;
  readonly outcome: string;
  readonly streamed: boolean;
  readonly duration_ms: number | null;
  readonly first_token_ms: number | null;
  readonly prompt_tokens: number | null;
  readonly completion_tokens: number | null;
  readonly key: string | null;
  /** The address. */
  readonly client: string;
  /** The name of the app. */
  readonly program: string;
  /** `title`, `tags` …, if it is a request beside a conversation. */
  readonly task: string | null;
}

export interface Listed {
  /** 0: the inspector is off. */
  readonly keeps: number;
  readonly requests: readonly Summary[];
}

export interface TimelineEvent {
  readonly at_ms: number | null;
  readonly type: string;
  readonly [name: string]: unknown;
}

export interface Generation {
  readonly memory: string;
  readonly prompt: string;
  readonly media: number;
  readonly prompt_tokens: number | null;
  readonly cached_tokens: number | null;
  readonly completion_tokens: number | null;
  readonly context_size: number | null;
  readonly seed: number | null;
  readonly settings: unknown;
  readonly text: string;
}

/** `GET api/extra/requests/ID`. */
export interface Detail extends Summary {
  readonly request: {
    readonly headers: Readonly<Record<string, string>>;
    readonly body: {
      readonly type: string;
      readonly bytes: number;
      readonly text: string | null;
      readonly cut?: string;
    };
  };
  readonly neutral: unknown;
  readonly warnings: readonly { readonly source: string; readonly text: string }[];
  readonly generations: readonly Generation[];
  readonly replies: readonly (readonly TimelineEvent[])[];
  readonly events_cut?: string;
  readonly response: {
    readonly status: number | null;
    readonly headers: Readonly<Record<string, string>>;
    readonly bytes: number;
    readonly text: string | null;
    readonly cut?: string;
  };
  readonly timings: Readonly<Record<string, number>>;
  readonly dialects: readonly DialectState[];
}

export interface DialectState {
  readonly name: string;
  readonly title: string;
  readonly shows: 'own' | 'chat' | 'text' | 'impossible';
  readonly reason?: string;
}

export interface ShownForm {
  readonly path: string;
  readonly body: unknown;
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
}

/** `POST api/extra/requests/ID/replay`. */
export interface Replay {
  readonly as: string;
  readonly title: string;
  readonly own: boolean;
  readonly note?: string;
  readonly lost: readonly { readonly field: string; readonly was: unknown; readonly becomes: unknown }[];
  readonly extensions: readonly string[];
  readonly streamed: ShownForm;
  readonly whole: ShownForm;
}

export interface Filter {
  readonly search: string;
  /** Empty for all. */
  readonly family: string;
  readonly outcome: string;
}

/** Every word of the search has to be in path, model, client, app, task, key or status. */
export function filtered(requests: readonly Summary[], { search, family, outcome }: Filter): readonly Summary[] {
  const searched = [
    'method',
    'path',
    'family',
    'model',
    'client',
    'program',
    'task',
    'key',
    'status',
    'outcome',
    'id',
  ] as const;
  return requests.filter(
    (one) =>
      (family === '' || one.family === family) &&
      (outcome === '' || one.outcome === outcome) &&
      containsWords(searched.map((name) => one[name]).join(' '), search),
  );
}

/** JSON with indents; other texts as they are. */
export const pretty = (text: string): string => reformatted(text, 2);

export function isJson(text: string): boolean {
  return /^\s*[[{]/.test(text) && pretty(text) !== text;
}

export interface Piece {
  readonly text: string;
  readonly special: boolean;
}

/** Marks of chat templates: `<|im_start|>`, `[INST]`, `<start_of_turn>`, `<think>` and the like. */
const marks =
  /<\|[^<>|\s]{1,60}\|>|<｜[^<>]{1,60}｜>|<\/?s>|\[\/?[A-Z_]{2,24}\]|<\/?(?:start_of_turn|end_of_turn|think|tool_call|tool_response|tools|bos|eos|unk|pad)>|<<\/?SYS>>/g;

/** The prompt in pieces: text, and marks between. */
export function promptPieces(prompt: string): readonly Piece[] {
  const pieces: Piece[] = [];
  let at = 0;
  for (const match of prompt.matchAll(marks)) {
    if (match.index > at) pieces.push({ text: prompt.slice(at, match.index), special: false });
    pieces.push({ text: match[0], special: true });
    at = match.index + match[0].length;
  }
  if (at < prompt.length) pieces.push({ text: prompt.slice(at), special: false });
  return pieces;
}

export interface Phase {
  /** A name in the texts. */
  readonly name: string;
  readonly from: number;
  readonly to: number;
}

/** The phases of a request, one after the other; those that it did not have are left out. */
export function phasesOf(timings: Readonly<Record<string, number>>, lastEventMs: number | undefined): readonly Phase[] {
  const {
    received_ms: received,
    decoded_ms: decoded,
    begun_ms: begun,
    first_token_ms: first,
    ended_ms: ended,
  } = timings;
  const replied = lastEventMs ?? ended;
  const marks: readonly (readonly [name: string, end: number | undefined])[] = [
    ['reading', received],
    ['translating', decoded],
    ['waiting', begun],
    [first === undefined ? 'work' : 'prompt', first ?? (begun === undefined ? undefined : ended)],
    ['reply', first === undefined ? undefined : replied],
    ['sending', ended],
  ];
  const phases: Phase[] = [];
  let from = 0;
  for (const [name, end] of marks) {
    if (end === undefined || end < from) continue;
    phases.push({ name, from, to: end });
    from = end;
  }
  return phases.filter((phase) => phase.to > phase.from);
}

/** What an event says, without its type and time. */
export function contentOf({ at_ms: _, type, ...rest }: TimelineEvent): string {
  if ((type === 'text-delta' || type === 'reasoning-delta') && typeof rest.text === 'string' && !rest.logprobs) {
    return rest.text;
  }
  return JSON.stringify(rest);
}

/** The dialects that are chosen at first: that of the request, and the next ones that can show it. */
export function firstChoice(dialects: readonly DialectState[], count: number): readonly string[] {
  const possible = dialects.filter(({ shows }) => shows !== 'impossible');
  const own = possible.filter(({ shows }) => shows === 'own');
  const alike = possible.filter(({ shows }) => shows === 'chat');
  const other = possible.filter(({ shows }) => shows === 'text');
  return [...own, ...alike, ...other].slice(0, count).map(({ name }) => name);
}
