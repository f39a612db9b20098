import type { call as callServer } from './call.ts';
import { serverEvents } from './events.ts';
import { Failure, sentenceOf } from './failure.ts';
import { texts } from './texts.ts';

/** A reply as far as it has arrived. */
export interface ReplyState {
  readonly text: string;
  /** Set when the reply has ended. `lost`: the server no longer has it. */
  readonly finish: string | undefined;
  /** Why it ended too early, for people. */
  readonly failed: string | undefined;
}

/** An event of a stream of the native API. */
export interface NativeEvent {
  readonly token?: string;
  readonly finish_reason?: string | null;
  readonly error?: { readonly message?: string };
  readonly warnings?: readonly string[];
}

export function withNativeEvent<Reply extends ReplyState>(reply: Reply, event: NativeEvent): Reply {
  const { token = '', finish_reason: finish, error } = event;
  const failed = finish === 'error' ? (error?.message ?? texts.reply.unfinished) : reply.failed;
  return { ...reply, text: reply.text + token, finish: finish ?? reply.finish, failed };
}

/** How one API streams replies. */
export interface ReplyFormat<Reply extends ReplyState> {
  readonly path: string;
  readonly empty: Reply;
  readonly withEvent: (reply: Reply, data: string) => Reply;
  /** The server no longer has it: what to do on the page that shows it. */
  readonly gone: string;
}

export interface ReplyContext<Reply> {
  readonly call: typeof callServer;
  readonly wait: (milliseconds: number, signal: AbortSignal) => Promise<void>;
  readonly signal: AbortSignal;
  /** For proxies that buffer streams: the events so far are fetched once per second. */
  readonly polling?: boolean;
  /** Called for each event, possibly hundreds of times per second. */
  readonly onReply: (reply: Reply) => void;
  /** Queue position or load progress, while there is no text yet. */
  readonly onStatus: (text: string) => void;
}

/** The key of a request is also the name of its stream, so that it is known before the request is sent. */
type Body = { readonly genkey: string };

const pollMs = 1000;
const resumeMs = 500;
/** Statuses that another try does not change. */
const refusals: ReadonlySet<number> = new Set([400, 401, 403]);
/** Consecutive failed requests until the server counts as gone. */
const maxFailures = 30;

/** Requests a reply. If the connection is lost, the stream is taken up where it was cut. */
export async function requestReply<Reply extends ReplyState>(
  format: ReplyFormat<Reply>,
  body: Body,
  context: ReplyContext<Reply>,
): Promise<Reply> {
  const events = new ReplyEvents(format, context);
  const sending = context.call(format.path, { body, signal: context.signal, streamName: body.genkey });
  if (context.polling) {
    const request: PendingRequest = { pending: true };
    sending
      .then(
        // The stream goes on without this connection.
        (response) => response.body?.cancel(),
        (thrown: unknown) => {
          if (thrown instanceof Failure) request.refused = thrown;
        },
      )
      .finally(() => {
        request.pending = false;
      });
    await context.wait(pollMs, context.signal);
    return takeUp(events, body.genkey, context, request);
  }
  const response = await sending;
  try {
    await events.read(response);
  } catch (thrown) {
    if (context.signal.aborted || thrown instanceof SyntaxError) throw thrown;
  }
  return events.reply.finish === undefined ? takeUp(events, body.genkey, context) : events.reply;
}

/** Fetches a reply that was requested earlier, until it ends. `known` is what the page has of it. */
export async function resumeReply<Reply extends ReplyState>(
  format: ReplyFormat<Reply>,
  genkey: string,
  context: ReplyContext<Reply>,
  known: Reply = format.empty,
): Promise<Reply> {
  const events = new ReplyEvents(format, context, known.text.length);
  const reply = await takeUp(events, genkey, context);
  const { finish, failed } = reply;
  return reply.text.length < known.text.length && finish === 'lost' ? { ...known, finish, failed } : reply;
}

/** A request whose response is not read. */
interface PendingRequest {
  pending: boolean;
  refused?: Failure;
}

/** The events of a reply that have arrived, over any number of connections. */
class ReplyEvents<Reply extends ReplyState> {
  reply: Reply;
  /** Number of the last event. */
  last = '0';

  constructor(
    readonly format: ReplyFormat<Reply>,
    private readonly context: Pick<ReplyContext<Reply>, 'onReply' | 'onStatus'>,
    /** Less text than this is not reported: the page shows more already. */
    private readonly shown = 0,
  ) {
    this.reply = format.empty;
  }

  async read({ body }: Response): Promise<void> {
    if (!body) return;
    const { onReply, onStatus } = this.context;
    for await (const { data, id } of serverEvents(body, (comment) => onStatus(statusText(comment)))) {
      this.last = id ?? this.last;
      if (data === '[DONE]') break;
      this.reply = this.format.withEvent(this.reply, data);
      if (this.reply.text.length >= this.shown) onReply(this.reply);
    }
  }
}

/** Reads the rest of a stream. */
async function takeUp<Reply extends ReplyState>(
  events: ReplyEvents<Reply>,
  name: string,
  { call, wait, signal, polling = false }: ReplyContext<Reply>,
  request: PendingRequest = { pending: false },
): Promise<Reply> {
  const lost = (failed: string): Reply => ({ ...events.reply, finish: 'lost', failed });
  let failures = 0;
  for (;;) {
    signal.throwIfAborted();
    if (request.refused) throw request.refused;
    try {
      const query = `after=${events.last}${polling ? '&follow=0' : ''}`;
      const response = await call(`api/extra/stream/${name}?${query}`, { signal, background: true });
      failures = 0;
      await events.read(response);
      // Nothing follows, although the reply has no end.
      if (response.status === 204 && !polling) return lost(events.format.gone);
    } catch (thrown) {
      if (signal.aborted || thrown instanceof SyntaxError) throw thrown;
      const status = thrown instanceof Failure ? (thrown.status ?? 0) : 0;
      const missing = status === 404 || status === 410;
      // The request may not have arrived yet.
      if (missing && !request.pending && !request.refused) return lost(events.format.gone);
      failures += missing ? 0 : 1;
      if (failures >= maxFailures || refusals.has(status)) return lost(sentenceOf(thrown));
    }
    if (events.reply.finish !== undefined) return events.reply;
    await wait(polling ? pollMs : resumeMs, signal);
  }
}

/** The status comments of a stream, for people; empty for other comments. */
export function statusText(comment: string): string {
  const { waiting } = texts;
  const queue = figures(/^queue position (\d+), about (\d+) s/, comment);
  if (queue) {
    const [position = 0, seconds = 0] = queue;
    const state = position <= 1 ? waiting.next : waiting.queued(position);
    return seconds > 0 ? waiting.seconds(state, seconds) : state;
  }
  const reading = figures(/^reading (\d+) of (\d+) tokens/, comment);
  if (reading) return waiting.reading(...(reading as [number, number]));
  const [, model, percent] = /^loading (.+), (\d+) %/.exec(comment) ?? [];
  return model === undefined ? '' : waiting.loading(model, Number(percent));
}

const figures = (pattern: RegExp, comment: string): readonly number[] | undefined =>
  pattern.exec(comment)?.slice(1).map(Number);

/** Resolves after the time or when the signal aborts. */
export function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, milliseconds);
    signal.addEventListener('abort', () => {
      clearTimeout(timer);
      resolve();
    });
  });
}
