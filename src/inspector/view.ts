import { clientFacts } from '../chat/client-facts.ts';
import { knownClient, sideTask } from '../core/clients.ts';
import type { GenerationEvent, Usage } from '../core/events.ts';
import { type Handling, sentFields } from '../core/fidelity.ts';
import { isObject, tryParseJson } from '../core/json.ts';
import type { EndpointShape } from '../protocols/endpoint.ts';
import { fidelityOf } from '../protocols/fields.ts';
import { preview } from './preview.ts';
import { isContent, limits, type RecordedGeneration, type RequestRecord, type TimedEvents } from './record.ts';

/** A line of the list. */
export function summaryOf(record: RequestRecord) {
  const { head, times } = record;
  const usage = usageOf(record);
  const facts = record.neutral?.kind === 'chat' ? clientFacts(record.neutral.request.conversation) : {};
  return {
    id: head.id,
    time: new Date(record.startedAt).toISOString(),
    method: head.method,
    path: head.path,
    family: head.family,
    kind: record.neutral?.kind ?? record.tasks[0]?.kind ?? null,
    model: answersText(record) ? record.model : null,
    status: statusOf(record),
    outcome: outcomeOf(record),
    streamed: /event-stream|ndjson/.test(record.replyHeaders['content-type'] ?? ''),
    duration_ms: rounded(times.ended),
    queue_ms: rounded(record.waitedMs),
    first_token_ms: rounded(times.firstToken),
    prompt_tokens: usage?.promptTokens ?? null,
    completion_tokens: usage?.completionTokens ?? null,
    key: record.key ?? null,
    client: head.remoteAddress,
    program: knownClient({ ...facts, headers: head.headers }).name,
    task: sideTask(facts) ?? null,
  };
}

/** Everything about one request. `endpoints` have the tables of its fields. */
export function detailOf(record: RequestRecord, endpoints: readonly EndpointShape[]) {
  const sent = sentText(record);
  const isChat = record.neutral?.kind === 'chat' || record.replies.length > 0;
  return {
    ...summaryOf(record),
    request: { headers: record.headers, body: bodyOf(record) },
    neutral: record.neutralPreview ?? null,
    warnings: warningsOf(record, endpoints),
    generations: record.generations.filter(({ contextSize }) => contextSize !== undefined).map(generationView),
    replies: (isChat ? record.replies : record.generations).map(timeline),
    ...(record.eventsCut && {
      events_cut: `Later events were not kept: they need more than ${limits.eventBytes} bytes.`,
    }),
    tasks: record.tasks.map(({ kind, begun, ended, error }) => ({
      kind,
      begun_ms: rounded(begun),
      ended_ms: rounded(ended),
      error: error ?? null,
    })),
    response: {
      status: statusOf(record),
      headers: record.replyHeaders,
      bytes: record.sentBytes,
      ...sent,
      ...(record.sentCut && { cut: `Cut after ${limits.sentCharacters} bytes at most.` }),
    },
    timings: Object.fromEntries(
      Object.entries(record.times).map(([name, time]) => [`${snake(name)}_ms`, rounded(time as number)]),
    ),
  };
}

function snake(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

function rounded(time: number | undefined): number | null {
  return time === undefined ? null : Math.round(time * 10) / 10;
}

function answersText({ neutral, generations, model }: RequestRecord): boolean {
  return model !== '' && (neutral !== undefined || generations.length > 0);
}

/** The error of a request whose client has disconnected is sent to no one. */
function statusOf({ status, end }: RequestRecord): number | null {
  return status === undefined || (end === 'client-gone' && status >= 500) ? null : status;
}

type Outcome = 'running' | 'completed' | 'aborted' | 'refused' | 'failed' | 'disconnected';

function outcomeOf(record: RequestRecord): Outcome {
  const last = lastEvents(record);
  const over = last.every((event) => event?.type === 'finish' || event?.type === 'error');
  if (record.end === undefined || !over) return 'running';
  if (record.end === 'client-gone') return 'disconnected';
  if ((record.status ?? 0) >= 500 || record.end === 'failed') return 'failed';
  if ((record.status ?? 0) >= 400) return 'refused';
  if (last.some((event) => event?.type === 'error') || record.tasks.some(({ error }) => error)) return 'failed';
  return last.some((event) => event?.type === 'finish' && event.reason === 'aborted') ? 'aborted' : 'completed';
}

/** The last event of each reply; only those of generations that have begun count. */
function lastEvents({ replies, generations }: RequestRecord): readonly (GenerationEvent | undefined)[] {
  const runs: readonly TimedEvents[] =
    replies.length > 0 ? replies : generations.filter(({ events }) => events.length > 0);
  return runs.map(({ events }) => events.at(-1));
}

function usageOf({ replies, generations }: RequestRecord): Usage | undefined {
  const finishes = (replies.length > 0 ? replies : generations).flatMap(({ events }) => {
    const last = events.at(-1);
    return last?.type === 'finish' ? [last.usage] : [];
  });
  const [first] = finishes;
  if (!first) return undefined;
  return { ...first, completionTokens: finishes.reduce((sum, { completionTokens }) => sum + completionTokens, 0) };
}

/** Text, JSON that was parsed, or for other data only size and type. */
function bodyOf({ body, headers }: RequestRecord) {
  const type = headers['content-type'] ?? '';
  if (!body) return { type, bytes: Number(headers['content-length'] ?? 0), text: null };
  const cut = body.content.length < body.bytes ? { cut: `Cut after ${limits.bodyBytes} bytes.` } : {};
  const text = decodedText(body.content);
  return { type, bytes: body.bytes, text: text ?? null, ...cut };
}

/** The JSON object that was sent; undefined if it was cut or is none. */
export function sentObject({ body }: RequestRecord): Readonly<Record<string, unknown>> | undefined {
  if (!body || body.content.length < body.bytes) return undefined;
  const parsed = tryParseJson(decodedText(body.content) ?? '');
  return isObject(parsed) ? parsed : undefined;
}

/** Undefined for data that is not text. The end may be inside of a character. */
function decodedText(content: Uint8Array): string | undefined {
  const text = new TextDecoder().decode(content, { stream: true });
  const odd = text.includes('\0') || (text.match(/\ufffd/g)?.length ?? 0) > text.length / 100;
  return odd ? undefined : text;
}

function sentText({ sent, replyHeaders }: RequestRecord): { readonly text: string | null } {
  const type = replyHeaders['content-type'] ?? '';
  if (!/^text\/|json|xml|javascript/.test(type)) return { text: sent.length === 0 ? '' : null };
  return {
    text: sent.map((piece) => (typeof piece === 'string' ? piece : Buffer.from(piece).toString('utf8'))).join(''),
  };
}

interface Warning {
  readonly source: 'field' | 'header' | 'prompt' | 'event';
  readonly text: string;
}

const handlingLabels: Readonly<Partial<Record<Handling, string>>> = {
  ignored: 'ignored',
  approximated: 'approximated',
};

function warningsOf(record: RequestRecord, endpoints: readonly EndpointShape[]): readonly Warning[] {
  const warnings: Warning[] = [];
  for (const [name, value] of Object.entries(record.replyHeaders)) {
    if (/^x-parley-(ignored|warnings|dropped-\w+)$/.test(name))
      warnings.push({ source: 'header', text: `${name}: ${value}` });
  }
  const body = sentObject(record);
  const { method, endpoint } = record.head;
  const { fields } = endpoints.find((one) => one.method === method && one.path === endpoint) ?? {};
  for (const { field, handling, note } of body && fields ? sentFields(body, fidelityOf(fields)) : []) {
    const word = handlingLabels[handling];
    if (word) warnings.push({ source: 'field', text: `${field}: ${word}${note ? `. ${note}` : ''}` });
  }
  for (const text of record.changes) warnings.push({ source: 'prompt', text });
  const events = [...record.replies, ...record.generations].flatMap(({ events }) => events);
  for (const event of events) {
    if (event.type === 'warning') warnings.push({ source: 'event', text: event.text });
    if (event.type === 'error') warnings.push({ source: 'event', text: event.error.message });
    if (event.type !== 'start') continue;
    if (event.droppedTokens)
      warnings.push({ source: 'event', text: `Tokens dropped from the prompt: ${event.droppedTokens}` });
    if (event.ignored?.length)
      warnings.push({ source: 'event', text: `Not known to the engine: ${event.ignored.join(', ')}` });
  }
  return warnings.filter((one, index) => warnings.findIndex(({ text }) => text === one.text) === index);
}

function generationView({ preview, contextSize, events, times }: RecordedGeneration) {
  const { prompt, memory, media, ...settings } = preview as Readonly<Record<string, unknown>>;
  const start = events.find((event) => event.type === 'start');
  const finish = events.findLast((event) => event.type === 'finish');
  const text = events.flatMap((event) =>
    event.type === 'text-delta' || event.type === 'reasoning-delta' ? [event.text] : [],
  );
  return {
    memory,
    prompt,
    media: Array.isArray(media) ? media.length : 0,
    prompt_tokens: finish?.usage.promptTokens ?? start?.promptTokens ?? null,
    cached_tokens: finish?.usage.cachedTokens ?? start?.cachedTokens ?? null,
    completion_tokens: finish?.usage.completionTokens ?? null,
    context_size: contextSize ?? null,
    seed: start?.seed ?? null,
    settings,
    text: text.join(''),
    first_token_ms: rounded(times[events.findIndex(isContent)]),
    engine: finish
      ? { prompt_ms: rounded(finish.timings.promptMs), generation_ms: rounded(finish.timings.generationMs) }
      : null,
  };
}

function timeline({ events, times }: TimedEvents) {
  return events.map((event, index) => ({ at_ms: rounded(times[index]), ...(preview(event, 20_000) as object) }));
}
