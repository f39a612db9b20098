import type { Answer } from './client.ts';
import type { ApiDocument, MediaSchema, Operation } from './document.ts';
import { faultOf, type Schema } from './schema.ts';

/** What is wrong with an answer by the document of the server; undefined if nothing is. */
export function answerFault(answer: Answer, operation: Operation, { resolve }: ApiDocument): string | undefined {
  const { status, body } = answer;
  if (status === 500) return 'status 500';
  const response = operation.responses[status] ?? (status >= 400 ? operation.responses.default : undefined);
  if (!response) return `status ${status} is not documented`;
  if (!response.content) return body.length === 0 ? undefined : `status ${status} has a body`;
  const type = (answer.headers['content-type'] ?? '').split(';', 1)[0] ?? '';
  const media = response.content[type];
  if (!media) return `content type ${JSON.stringify(type)} of status ${status} is not documented`;
  if (type === 'application/json') return jsonFault(body.toString('utf8'), media.schema, resolve);
  if (type === 'text/event-stream') return streamFault(eventsOf(body.toString('utf8')), media, resolve);
  if (type !== 'application/x-ndjson') return undefined;
  const text = body.toString('utf8');
  if (!text.endsWith('\n')) return 'the last line has no end';
  return streamFault(text.trimEnd().split('\n'), media, resolve);
}

function jsonFault(text: string, schema: Schema, resolve: ApiDocument['resolve']): string | undefined {
  // The shared story is sent as it was stored, and is empty at first.
  if (text === '' && Object.keys(schema).length === 0) return undefined;
  const value = parsed(text);
  return value === undefined ? 'is not JSON' : faultOf(value.json, schema, resolve);
}

/** Of several server-sent events, their data; comments are left out. */
function eventsOf(text: string): readonly string[] {
  if (!text.endsWith('\n\n')) return [...text.split('\n\n').map(dataOf), 'a frame without an end'];
  return text
    .split('\n\n')
    .slice(0, -1)
    .map(dataOf)
    .filter((data) => data !== '');
}

function dataOf(frame: string): string {
  const data = frame.split('\n').filter((line) => line.startsWith('data:'));
  return data.map((line) => line.slice('data:'.length).trimStart()).join('\n');
}

function streamFault(events: readonly string[], media: MediaSchema, resolve: ApiDocument['resolve']) {
  const { 'x-stream-event': schema = {}, 'x-stream-end': end } = media;
  if (events.length === 0) return 'a stream without events';
  if (end !== undefined && events.at(-1) !== end) return `the last event is not ${end}`;
  for (const [index, event] of (end === undefined ? events : events.slice(0, -1)).entries()) {
    const fault = jsonFault(event, schema, resolve);
    if (fault !== undefined) return `event ${index} ${fault}: ${event.slice(0, 300)}`;
  }
  return undefined;
}

function parsed(text: string): { readonly json: unknown } | undefined {
  try {
    return { json: JSON.parse(text) as unknown };
  } catch {
    return undefined;
  }
}
